import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { isOnExt4WithoutJournal, spreadPartitions } from './questdb-folders.ts'

test('tables on an ext4 without a journal have the attribute that distributes their partitions', async ({
  expect,
  skip,
}) => {
  const dir = mkdtempSync(join(tmpdir(), 'questdb-folders-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const table = join(dir, 'data', 'db', 'cellular~4')
  mkdirSync(table, { recursive: true })
  if (!(await isOnExt4WithoutJournal(dir))) skip('The temporary folder is not on an ext4 without a journal.')
  await spreadPartitions(dir)
  expect(execFileSync('lsattr', ['-d', table], { encoding: 'utf8' })).toMatch(/^\S*T/)
})

test('a folder without QuestDB is not an error', async ({ expect }) => {
  const dir = mkdtempSync(join(tmpdir(), 'questdb-folders-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  await expect(spreadPartitions(join(dir, 'missing'))).resolves.toBeUndefined()
})
