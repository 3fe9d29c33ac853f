import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { restoreMetadata } from './questdb-metadata.ts'

test('a table whose metadata was being replaced has its previous metadata again; others do not change', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-metadata-'))
  const files = {
    'location~6': { '_meta.prev': 'previous', '_meta.swp': 'next' },
    'system~7': { _meta: 'present', '_meta.prev': 'previous' },
    'dropped~8': {},
  }
  for (const [folder, contents] of Object.entries(files)) {
    await mkdir(join(dir, 'db', folder), { recursive: true })
    for (const [name, text] of Object.entries(contents)) await writeFile(join(dir, 'db', folder, name), text)
  }
  await writeFile(join(dir, 'db', 'tables.d.0'), '')
  expect(await restoreMetadata(dir)).toEqual(['location~6'])
  expect(await readFile(join(dir, 'db', 'location~6', '_meta'), 'utf8')).toBe('previous')
  expect(await readFile(join(dir, 'db', 'system~7', '_meta'), 'utf8')).toBe('present')
  expect(await readdir(join(dir, 'db', 'dropped~8'))).toEqual([])
  expect(await restoreMetadata(dir)).toEqual([])
  await rm(dir, { recursive: true })
  expect(await restoreMetadata(dir)).toEqual([])
})
