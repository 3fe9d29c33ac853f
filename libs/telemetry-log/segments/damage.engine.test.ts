import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deadLetterFolder } from '#telemetry-log/dead-letters/dead-letters'
import type { LoggedBatch, LogTail } from '#telemetry-log/log'
import { openSegmentLog } from './segment-log.ts'
import { openSegmentReader } from './segment-reader.ts'
import { listSegments, segmentHeaderBytes } from './segments.ts'

const root = mkdtempSync(join(tmpdir(), 'telemetry-log-damage-'))
const original = join(root, 'original')
const bodies = Array.from({ length: 12 }, (_, index) => `${index}:${'y'.repeat((index * 37) % 90)}`)
let frames: LoggedBatch[] = []
let copies = 0

beforeAll(async () => {
  const log = await openSegmentLog({ folder: original })
  for (const body of bodies) {
    await log.append({
      deviceId: '01890000-0000-7000-8000-0000000000aa',
      organizationId: '01890000-0000-7000-8000-0000000000bb',
      deviceClass: 'vehicle',
      receivedAtMs: 1_760_000_000_123,
      oldestTsMs: 1_750_000_000_000,
      format: 'json',
      sampleCount: 10,
      body: Buffer.from(body),
    })
  }
  frames = readAll(original, log.tail()).batches
  await log.close()
})
afterAll(() => rmSync(root, { recursive: true }))

function damagedCopy(damage: (path: string) => void): string {
  const folder = join(root, `copy-${copies++}`)
  cpSync(original, folder, { recursive: true })
  damage(listSegments(folder)[0]?.path ?? '')
  return folder
}

function readAll(folder: string, until: Pick<LogTail, 'position'>) {
  const batches: LoggedBatch[] = []
  const damages: { from: number; to: number }[] = []
  const reader = openSegmentReader({ folder, from: 0, onDamage: (damage) => damages.push(damage) })
  for (let chunk = reader.read(until.position, 1); chunk.length > 0; chunk = reader.read(until.position, 1)) {
    batches.push(...chunk)
  }
  reader.close()
  return { batches, damages }
}

const keptBytes = (folder: string) => {
  try {
    return readdirSync(deadLetterFolder(folder)).map((name) => readFileSync(join(deadLetterFolder(folder), name)))
  } catch {
    return []
  }
}

test('after truncation at any byte, the log opens with exactly the complete frames and continues', async () => {
  const size = readFileSync(listSegments(original)[0]?.path ?? '').length
  for (let cut = 0; cut <= size; cut++) {
    const folder = damagedCopy((path) => truncateSync(path, cut))
    const log = await openSegmentLog({ folder })
    const whole = frames.filter(({ nextPosition }) => nextPosition <= cut)
    expect(log.tail()).toEqual({
      position: whole.at(-1)?.nextPosition ?? segmentHeaderBytes,
      samples: whole.length * 10,
    })
    if (cut % 97 === 0) {
      const { firstSample, position, nextPosition, ...batch } = frames[0] as LoggedBatch
      await log.append({ ...batch, body: Buffer.from('after the cut') })
      const { batches, damages } = readAll(folder, log.tail())
      expect(batches.map(({ body }) => body.toString())).toEqual([...bodies.slice(0, whole.length), 'after the cut'])
      expect(damages).toEqual([])
    }
    await log.close()
    expect(keptBytes(folder)).toEqual([])
    rmSync(folder, { recursive: true })
  }
}, 120_000)

test('one changed byte loses at most its own frame, whose bytes are saved and whose samples are counted', () => {
  const end = frames.at(-1)?.nextPosition ?? 0
  fc.assert(
    fc.property(
      fc.integer({ min: segmentHeaderBytes, max: end - 1 }),
      fc.integer({ min: 1, max: 255 }),
      (at, change) => {
        const folder = damagedCopy((path) => {
          const bytes = readFileSync(path)
          bytes[at] = (bytes[at] ?? 0) ^ change
          writeFileSync(path, bytes)
        })
        const hit = frames.findIndex(({ nextPosition }) => at < nextPosition)
        const { batches, damages } = readAll(folder, { position: end })
        expect(batches.map(({ body }) => body.toString())).toEqual(bodies.filter((_, index) => index !== hit))
        expect(damages).toEqual([{ from: frames[hit]?.position, to: frames[hit]?.nextPosition }])
        expect(keptBytes(folder).map(({ length }) => length)).toEqual([
          (frames[hit]?.nextPosition ?? 0) - (frames[hit]?.position ?? 0),
        ])
        const following = batches[hit]
        if (following) expect(following.firstSample).toBe((hit + 1) * 10)
        rmSync(folder, { recursive: true })
      },
    ),
  )
})

test('opening cuts off a damaged last frame and saves it; the reader skips damage in the middle', async () => {
  const last = frames.at(-1) as LoggedBatch
  const middle = frames[5] as LoggedBatch
  for (const [frame, expectedSamples] of [
    [last, 110],
    [middle, 120],
  ] as const) {
    const folder = damagedCopy((path) => {
      const bytes = readFileSync(path)
      bytes[frame.nextPosition - 1] = 0
      writeFileSync(path, bytes)
    })
    const log = await openSegmentLog({ folder })
    expect(log.tail().samples).toBe(expectedSamples)
    expect(keptBytes(folder).length).toBe(frame === last ? 1 : 0)
    await log.close()
  }
})

test('damage that is longer than any frame is skipped at once', () => {
  const folder = damagedCopy((path) => {
    const bytes = readFileSync(path)
    const at = (frames[4] as LoggedBatch).position
    const rubbish = Buffer.alloc(5 * 1024 * 1024, 'RFTF')
    // What follows stands elsewhere than its checksum says, so none of it may be taken for a frame.
    writeFileSync(path, Buffer.concat([bytes.subarray(0, at), rubbish, bytes.subarray(at)]))
  })
  const path = listSegments(folder)[0]?.path ?? ''
  const { batches } = readAll(folder, { position: readFileSync(path).length })
  expect(batches.map(({ body }) => body.toString())).toEqual(bodies.slice(0, 4))
})
