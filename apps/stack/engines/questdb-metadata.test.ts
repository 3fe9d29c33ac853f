import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { repairTables } from './questdb-metadata.ts'

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'routerfleet-metadata-'))
})

afterEach(() => rm(dir, { recursive: true, force: true }))

/** Writes the files of table folders, by their paths in the database. */
async function writeTables(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(dir, 'db', path, '..'), { recursive: true })
    await writeFile(join(dir, 'db', path), text)
  }
}

/** Writes a list of tables as QuestDB does: each name with its length before it. */
async function listTables(...folders: string[]): Promise<void> {
  const entries = folders.map((folder) => {
    const length = Buffer.alloc(4)
    length.writeInt32LE(folder.length)
    return Buffer.concat([length, Buffer.from(folder, 'utf16le')])
  })
  await mkdir(join(dir, 'db'), { recursive: true })
  await writeFile(join(dir, 'db', 'tables.d.0'), Buffer.concat(entries))
}

const textOf = (path: string) => readFile(join(dir, 'db', path), 'utf8')

test('a table whose metadata was being replaced has its previous metadata again; others do not change', async () => {
  await listTables('location~6', 'system~7', 'dropped~8')
  await writeTables({
    'location~6/_meta.prev': 'previous',
    'location~6/_meta.swp': 'next',
    'system~7/_meta': 'present',
    'system~7/_meta.prev': 'previous',
    'dropped~8/txn_seq/_meta': '',
  })
  expect(await repairTables(dir)).toEqual({ restored: ['location~6'], removed: [] })
  expect(await textOf('location~6/_meta')).toBe('previous')
  expect(await textOf('system~7/_meta')).toBe('present')
  expect(await readdir(join(dir, 'db', 'dropped~8'))).toEqual(['txn_seq'])
  expect(await repairTables(dir)).toEqual({ restored: [], removed: [] })
})

test('a table whose creation had not ended is removed; listed tables and those with rows stay', async () => {
  await listTables('cellular~12')
  await writeTables({
    'cellular~12/txn_seq/_meta': '',
    'cellular~1/_meta': 'a name that another begins with',
    'cellular~1/txn_seq/_meta': '',
    'system~7/_meta': 'without a sequencer',
    'location~6/_meta': 'with the log of a writer',
    'location~6/wal1/0/_meta': '',
    'dwell~9/_meta': 'with a partition',
    'dwell~9/2026-01/ts.d': '',
    'notes/readme': 'not a table',
  })
  expect((await repairTables(dir)).removed.sort()).toEqual(['cellular~1', 'system~7'])
  expect((await readdir(join(dir, 'db'))).sort()).toEqual([
    'cellular~12',
    'dwell~9',
    'location~6',
    'notes',
    'tables.d.0',
  ])
})

test('a data folder of a QuestDB that never started needs no repair', async () => {
  expect(await repairTables(join(dir, 'missing'))).toEqual({ restored: [], removed: [] })
})
