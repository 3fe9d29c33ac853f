import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const built = join(import.meta.dirname, '../../apps/fleet-map/dist')

test('the whole page, workers and all, weighs less than 600 KB on the wire', async () => {
  const entries = await readdir(built, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const weights = await Promise.all(files.map(async (file) => gzipSync(await readFile(file), { level: 9 }).length))
  expect(files.some((file) => file.endsWith('index.html'))).toBe(true)
  expect(weights.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(600_000)
})
