import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { syncedPaths, syncsMissing } from '#test/synced-paths'
import {
  appendDeadLetters,
  type DeadRow,
  deadLetterFolder,
  deadReportOf,
  isDeadReport,
  isLetterFile,
  parseDeadLetter,
  saveDamagedBytes,
} from './dead-letters.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dead-letters-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a new file and its folder are durable in the folders above them, and only their owner can read them', async ({
  skip,
}) => {
  if (syncsMissing !== null) return skip(syncsMissing)
  const letters = deadLetterFolder(folder)
  const file = join(letters, 'rows-2026-11-22.jsonl')
  const first = await syncedPaths(() => appendDeadLetters({ logFolder: folder, partition: 0 }, atMs, [row]))
  expect(first).toEqual(expect.arrayContaining([file, letters, folder]))
  const second = await syncedPaths(() => appendDeadLetters({ logFolder: folder, partition: 0 }, atMs, [row]))
  expect(second).toEqual([file])
  expect([statSync(letters).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600])
})

const atMs = Date.UTC(2026, 10, 22)
const row: DeadRow = { at: '2026-11-22T00:00:00.000Z', reason: '400', table: 'system', key: 'k', row: 'cm93' }
const report = deadReportOf(
  {
    deviceId: '01890000-0000-7000-8000-0000000000aa',
    organizationId: '01890000-0000-7000-8000-0000000000bb',
    deviceClass: 'ship',
    receivedAtMs: 2,
    oldestTsMs: 1,
    format: 'ndjson',
    sampleCount: 3,
    body: Buffer.from('{"kind":"system"}'),
  },
  'out of memory',
  atMs,
)

const lettersIn = (name: string) =>
  readFileSync(join(deadLetterFolder(folder), name), 'utf8')
    .trimEnd()
    .split('\n')
    .map(parseDeadLetter)

test('rows and reports are stored in separate files and read back', () => {
  appendDeadLetters({ logFolder: folder, partition: 0 }, atMs, [row, report])
  appendDeadLetters({ logFolder: folder, partition: 0 }, atMs, [report])
  expect(readdirSync(deadLetterFolder(folder)).sort()).toEqual(['reports-2026-11-22.jsonl', 'rows-2026-11-22.jsonl'])
  expect(lettersIn('rows-2026-11-22.jsonl')).toEqual([row])
  expect(lettersIn('reports-2026-11-22.jsonl')).toEqual([report, report])
  expect([isDeadReport(row), isDeadReport(report)]).toEqual([false, true])
})

test('an incomplete line is not a dead letter', () => {
  const line = JSON.stringify(report)
  expect(parseDeadLetter(line.slice(0, -5))).toBeUndefined()
  expect(parseDeadLetter('{}')).toBeUndefined()
})

test('a full disk throws', () => {
  mkdirSync(deadLetterFolder(folder))
  symlinkSync('/dev/full', join(deadLetterFolder(folder), 'rows-2026-11-22.jsonl'))
  expect(() => appendDeadLetters({ logFolder: folder, partition: 0 }, atMs, [row])).toThrow('ENOSPC')
})

test('each partition has its own files in the same folder', () => {
  for (const partition of [0, 3]) {
    appendDeadLetters({ logFolder: folder, partition }, atMs, [row])
    saveDamagedBytes({ logFolder: folder, partition }, 32, Buffer.of(partition))
  }
  const names = readdirSync(deadLetterFolder(folder)).sort()
  expect(names.filter(isLetterFile)).toEqual(['rows-2026-11-22-p3.jsonl', 'rows-2026-11-22.jsonl'])
  expect(names).toContain('damaged-0000000000000032.bin')
  expect(names).toContain('damaged-0000000000000032-p3.bin')
})
