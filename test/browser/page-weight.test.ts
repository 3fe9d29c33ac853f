import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const built = join(import.meta.dirname, '../../apps/fleet-map/dist')

// Views that are loaded when they are first opened.
const onDemand = /\/(dead-zones|route-panel)-[^/]+$/

async function weigh(files: readonly string[]): Promise<number> {
  const weights = await Promise.all(files.map(async (file) => gzipSync(await readFile(file), { level: 9 }).length))
  return weights.reduce((sum, bytes) => sum + bytes, 0)
}

test('what the map loads, workers and all, weighs less than 600 KB on the wire, and later views less than 10 KB', async () => {
  const entries = await readdir(built, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  expect(files.some((file) => file.endsWith('index.html'))).toBe(true)
  const later = files.filter((file) => onDemand.test(file))
  expect(later.length).toBeGreaterThan(0)
  expect(await weigh(later)).toBeLessThan(10_000)
  expect(await weigh(files.filter((file) => !onDemand.test(file)))).toBeLessThan(600_000)
})
