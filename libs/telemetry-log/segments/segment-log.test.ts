import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LogFailedError, LogFullError, type LoggedBatch, type LogTail, type TelemetryBatch } from '#telemetry-log/log'
import { until } from '#test/until'
import { openSegmentLog } from './segment-log.ts'
import { openSegmentReader } from './segment-reader.ts'
import { deleteSegmentsBefore, listSegments } from './segments.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'telemetry-log-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const batch = (text: string, sampleCount = 1): TelemetryBatch => ({
  deviceId: '01890000-0000-7000-8000-0000000000aa',
  organizationId: '01890000-0000-7000-8000-0000000000bb',
  deviceClass: 'ship',
  receivedAtMs: 1_760_000_000_123,
  oldestTsMs: 1_750_000_000_000,
  format: 'ndjson',
  sampleCount,
  body: Buffer.from(text),
})

function readAll(until: LogTail, from = 0): LoggedBatch[] {
  const reader = openSegmentReader({ folder, from, onDamage: () => expect.fail('The log is not damaged.') })
  const found: LoggedBatch[] = []
  for (let chunk = reader.read(until.position, 1); chunk.length > 0; chunk = reader.read(until.position, 1)) {
    found.push(...chunk)
  }
  reader.close()
  return found
}

const texts = (batches: LoggedBatch[]) => batches.map(({ body }) => body.toString())

test('a batch is read back as it was appended, with its sample count', async () => {
  const log = await openSegmentLog({ folder })
  await log.append(batch('first', 3))
  await log.append(batch('second', 2))
  const [first, second] = readAll(log.tail())
  expect(first).toMatchObject({ ...batch('first', 3), firstSample: 0 })
  expect(second).toMatchObject({ ...batch('second', 2), firstSample: 3, position: first?.nextPosition })
  expect(log.tail()).toEqual({ position: second?.nextPosition, samples: 5 })
  await log.close()
})

test('concurrent appends keep their order over many segments and after reopening', async () => {
  const tails: LogTail[] = []
  const options = { folder, maxSegmentBytes: 5_000, onTail: (tail: LogTail) => tails.push(tail) }
  const log = await openSegmentLog(options)
  const written = Array.from({ length: 600 }, (_, index) => `${index}:${'x'.repeat(index)}`)
  for (let start = 0; start < written.length; start += 20) {
    await Promise.all(written.slice(start, start + 20).map((text) => log.append(batch(text))))
  }
  const tail = log.tail()
  await log.close()
  expect(listSegments(folder).length).toBeGreaterThan(20)
  expect(tails.length).toBeLessThan(100)

  const again = await openSegmentLog(options)
  expect(again.tail()).toEqual(tail)
  await again.append(batch('after'))
  const all = readAll(again.tail())
  expect(texts(all)).toEqual([...written, 'after'])
  expect(all.map(({ firstSample }) => firstSample)).toEqual(all.map((_, index) => index))
  const middle = all[300]
  expect(texts(readAll(again.tail(), middle?.position))).toEqual([...written, 'after'].slice(300))
  await again.close()
})

test('a reader follows the writer through new segments and past deleted ones', async () => {
  const log = await openSegmentLog({ folder, maxSegmentBytes: 1_000 })
  const reader = openSegmentReader({ folder, from: 0, onDamage: () => expect.fail('The log is not damaged.') })
  for (let index = 0; index < 40; index++) {
    await log.append(batch(`${index}`.padEnd(100)))
    expect(texts(reader.read(log.tail().position, 1)).map(Number)).toEqual([index])
    expect(reader.read(log.tail().position, 1)).toEqual([])
  }
  const oldest = listSegments(folder)[3]
  expect(deleteSegmentsBefore(folder, (oldest?.base ?? 0) + 5)).toBe(3)
  expect(readAll(log.tail())[0]?.position).toBe((oldest?.base ?? 0) + 32)
  expect(deleteSegmentsBefore(folder, Number.MAX_SAFE_INTEGER)).toBeGreaterThan(0)
  expect(listSegments(folder)).toHaveLength(1)
  await log.close()
})

test('a folder can be opened by one log at a time', async () => {
  const log = await openSegmentLog({ folder })
  await log.close()
  const next = await openSegmentLog({ folder })
  await next.close()
  await expect(next.append(batch('late'))).rejects.toThrow(LogFailedError)
})

test('after a failed sync, no append resolves, further appends are rejected, and the error is reported', async () => {
  let failing = false
  const log = await openSegmentLog({
    folder,
    syncData: (_fd, done) => setImmediate(() => done(failing ? new Error('EIO') : null)),
  })
  await log.append(batch('kept'))
  failing = true
  const outcomes = await Promise.allSettled([log.append(batch('a')), log.append(batch('b')), log.append(batch('c'))])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect((await log.failed).message).toBe('EIO')
  failing = false
  await expect(log.append(batch('d'))).rejects.toThrow(LogFailedError)
  expect(texts(readAll(log.tail()))).toEqual(['kept'])
  await log.close()
})

test('a body that compresses well is stored as sent, other bodies are decompressed; all are read back the same', async () => {
  const log = await openSegmentLog({ folder })
  const spaces = Buffer.from(`{}${' '.repeat(1024 * 1024 - 2)}`)
  const noise = Buffer.from(randomBytes(50_000).toString('hex'))
  for (const [coding, compress] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const before = log.tail().position
    const appended = [spaces, noise].map((body) => ({ ...batch('', 4), body }))
    for (const one of appended) await log.append({ ...one, compressed: { coding, bytes: compress(one.body) } })
    expect(log.tail().position - before).toBeLessThan(noise.length + 5_000)
    const found = readAll(log.tail(), before)
    expect(found.map(({ body }) => body.equals(spaces))).toEqual([true, false])
    expect(found.map(({ body }) => body.equals(noise))).toEqual([false, true])
    expect(found[0]).toMatchObject({ ...batch('', 4), body: expect.anything() })
  }
  await log.close()
})

test('a reader limits the decompressed bytes that it returns at once', async () => {
  const log = await openSegmentLog({ folder })
  const body = Buffer.alloc(1024 * 1024, ' ')
  const compressed = { coding: 'gzip', bytes: gzipSync(body) } as const
  for (let index = 0; index < 40; index++) await log.append({ ...batch(''), body, compressed })
  const reader = openSegmentReader({ folder, from: 0, onDamage: () => expect.fail('The log is not damaged.') })
  let read = 0
  while (read < 40) {
    const chunk = reader.read(log.tail().position, 1)
    expect(chunk.length).toBeGreaterThan(0)
    expect(chunk.length).toBeLessThanOrEqual(3)
    read += chunk.length
  }
  reader.close()
  await log.close()
})

test('while a sync hangs, a limited number of appends wait and are stored in the end; others are rejected', async () => {
  let finishSync: (() => void) | undefined
  let isHanging = false
  const log = await openSegmentLog({
    folder,
    maxWaitingBytes: 10_000,
    maxWaitingReports: 50,
    syncData(_fd, done) {
      if (isHanging) finishSync = () => done(null)
      else setImmediate(() => done(null))
    },
  })
  const outcomes: string[] = []
  const append = (text: string) =>
    log.append(batch(text)).then(
      () => outcomes.push('kept'),
      (error: unknown) => outcomes.push(error instanceof LogFullError ? 'refused' : 'failed'),
    )
  for (const [text, waiting] of [
    ['x', 50],
    ['x'.repeat(1_000), 10],
  ] as const) {
    outcomes.length = 0
    isHanging = true
    const appends = [append('under way')]
    await until('the sync has begun', async () => finishSync !== undefined)
    for (let index = 0; index < 1_000; index++) appends.push(append(text))
    expect(log.queue()).toMatchObject({ reports: waiting, isFull: true })
    await until('the others are refused', async () => outcomes.length === 1_000 - waiting)
    expect(new Set(outcomes)).toEqual(new Set(['refused']))
    isHanging = false
    finishSync?.()
    finishSync = undefined
    await Promise.all(appends)
    expect(outcomes.filter((outcome) => outcome === 'kept')).toHaveLength(waiting + 1)
    expect(log.queue()).toEqual({ bytes: 0, reports: 0, isFull: false })
  }
  expect(readAll(log.tail())).toHaveLength(62)
  await log.close()
})

test('counts the groups that became durable, with the time that their syncs took', async () => {
  let syncError: Error | null = null
  const log = await openSegmentLog({
    folder,
    syncData: (_fd, done) => setTimeout(() => done(syncError), 20),
  })
  expect(log.commits()).toEqual({ count: 0, seconds: 0 })
  await log.append(batch('alone'))
  const after = log.commits()
  expect(after.count).toBe(1)
  // A timer may end a millisecond early.
  expect(after.seconds).toBeGreaterThan(0.015)
  syncError = new Error('The disk is gone.')
  await expect(log.append(batch('lost'))).rejects.toThrow()
  expect(log.commits()).toEqual(after)
  await log.close()
})

test('close waits for pending appends', async () => {
  const log = await openSegmentLog({ folder })
  const appended = ['a', 'b', 'c'].map((text) => log.append(batch(text)))
  await log.close()
  await Promise.all(appended)
  const reopened = await openSegmentLog({ folder })
  expect(texts(readAll(reopened.tail()))).toEqual(['a', 'b', 'c'])
  await reopened.close()
})

test('an interrupted creation of a segment is repeated', async () => {
  mkdirSync(folder, { recursive: true })
  const log = await openSegmentLog({ folder, maxSegmentBytes: 1 })
  await log.append(batch('a'))
  await log.append(batch('b'))
  await log.close()
  const newest = listSegments(folder).at(-1)
  const { truncateSync } = await import('node:fs')
  truncateSync(newest?.path ?? '', 10)
  const again = await openSegmentLog({ folder, maxSegmentBytes: 1 })
  await again.append(batch('c'))
  expect(texts(readAll(again.tail()))).toEqual(['a', 'c'])
  expect(readdirSync(folder).every((name) => statSync(join(folder, name)).size > 0)).toBe(true)
  await again.close()
})

// In a process of its own, whose limit is small and which may use up what others need.
const withoutDescriptors = `
  import { closeSync, openSync } from 'node:fs'
  import { openSegmentLog } from '#telemetry-log/segments/segment-log'
  const log = await openSegmentLog({ folder: process.argv[1], maxSegmentBytes: 100 })
  const batch = { deviceId: '01890000-0000-7000-8000-0000000000aa', organizationId: '01890000-0000-7000-8000-0000000000bb',
    deviceClass: 'ship', receivedAtMs: 1, oldestTsMs: 1, format: 'json', sampleCount: 1, body: Buffer.alloc(200) }
  await log.append(batch)
  const held = []
  try { for (;;) held.push(openSync('/dev/null')) } catch {}
  const refused = await log.append(batch).catch(({ name }) => name)
  for (const fd of held) closeSync(fd)
  await log.append(batch)
  console.log(JSON.stringify({ refused, samples: log.tail().samples }))`

test('without a file descriptor the log rejects appends, and continues when one is available', () => {
  const node = `exec '${process.execPath}' --input-type=module-typescript --eval "$0" '${folder}'`
  const { stdout, stderr } = spawnSync('sh', ['-c', `ulimit -n 200; ${node}`, withoutDescriptors], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ refused: 'LogFullError', samples: 2 })
})
