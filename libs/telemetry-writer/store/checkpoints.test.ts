import { closeSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readCheckpoint, writeCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import { openSegmentCheckpoints } from '#telemetry-log/segments/segment-checkpoints'
import { createSegment, listSegments } from '#telemetry-log/segments/segments'
import { openCheckpoints } from './checkpoints.ts'

const minuteMs = 60_000
const segmentBytes = 1_000_000

let folder: string
let monotonicMs: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoints-'))
  monotonicMs = 5_000
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 22) })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

const stored = (samples: number) => ({ stored: samples, replaced: 0, deadLettered: 0 })

const open = ({ earlyDeletionBytes = Number.POSITIVE_INFINITY, isHeld = true } = {}) =>
  openCheckpoints({
    store: openSegmentCheckpoints({ folder, logFolder: folder, tailPosition: 10 * segmentBytes, earlyDeletionBytes }),
    mayWrite: () => isHeld,
    monotonicMs: () => monotonicMs,
  })

/** Segments that end at every million. */
function fillWithSegments(count: number): void {
  for (let index = 0; index < count; index++) {
    const { path, fd } = createSegment(folder, index * segmentBytes, index)
    closeSync(fd)
    truncateSync(path, segmentBytes)
  }
}

const basesLeft = () => listSegments(folder).map(({ base }) => base / segmentBytes)

test('on a full disk the previous checkpoint remains, and the next is written when there is space', () => {
  const slots = join(folder, 'checkpoint.slots')
  writeFileSync(
    join(folder, 'checkpoint.json'),
    JSON.stringify({ position: 100, counts: stored(1), atMs: 0, history: [] }),
  )
  const checkpoints = open()
  // Whatever is written there is answered ENOSPC.
  symlinkSync('/dev/full', slots)
  monotonicMs += 2_000
  checkpoints.advance(200, stored(2))
  expect(checkpoints.current()).toMatchObject({ position: 200, counts: stored(2) })
  rmSync(slots)
  expect(readCheckpoint(folder)?.position).toBe(100)
  monotonicMs += 2_000
  checkpoints.keep()
  expect(readCheckpoint(folder)).toMatchObject({ position: 200, counts: stored(2) })
})

test('without space for a checkpoint, segments that were stored a replay window ago are still deleted', () => {
  fillWithSegments(4)
  const checkpoints = open()
  monotonicMs += 2_000
  checkpoints.advance(2.5 * segmentBytes, stored(2))
  rmSync(join(folder, 'checkpoint.slots'))
  symlinkSync('/dev/full', join(folder, 'checkpoint.slots'))
  for (let minute = 0; minute < 31; minute++) {
    monotonicMs += minuteMs
    checkpoints.keep()
  }
  expect(basesLeft()).toEqual([2, 3])
})

test('setting the clock back by a day does not affect checkpoints and deletion', () => {
  fillWithSegments(4)
  const checkpoints = open()
  monotonicMs += 2_000
  checkpoints.advance(2.5 * segmentBytes, stored(2))
  vi.setSystemTime(Date.now() - 24 * 60 * minuteMs)
  for (let minute = 0; minute < 31; minute++) {
    monotonicMs += minuteMs
    checkpoints.advance(2.6 * segmentBytes, stored(3))
  }
  expect(readCheckpoint(folder)?.position).toBe(2.6 * segmentBytes)
  expect(basesLeft()).toEqual([2, 3])
  // The times in the file are of the clock as it is now, so a restart counts on from there.
  expect(readCheckpoint(folder)?.atMs).toBe(Date.now())
})

test('setting the clock back between two starts delays the deletion of stored segments but does not prevent it', () => {
  fillWithSegments(4)
  const atMs = Date.now() + 24 * 60 * minuteMs
  const position = 2.5 * segmentBytes
  writeCheckpoint(folder, { position, counts: stored(2), atMs, history: [{ position: 0, atMs }] })
  const checkpoints = open()
  for (let minute = 0; minute < 14; minute++) {
    monotonicMs += minuteMs
    checkpoints.keep()
  }
  expect(basesLeft()).toEqual([0, 1, 2, 3])
  for (let minute = 0; minute < 17; minute++) {
    monotonicMs += minuteMs
    checkpoints.keep()
  }
  expect(basesLeft()).toEqual([2, 3])
})

test('when the folder is nearly full, stored segments are deleted early, oldest first, and no others', () => {
  fillWithSegments(8)
  const checkpoints = open({ earlyDeletionBytes: 5.5 * segmentBytes })
  checkpoints.advance(6.5 * segmentBytes, stored(6))
  expect(basesLeft()).toEqual([3, 4, 5, 6, 7])
  const tight = open({ earlyDeletionBytes: 0 })
  monotonicMs += 2_000
  tight.keep()
  // What the database has may be gone until a replay has passed.
  expect(basesLeft()).toEqual([3, 4, 5, 6, 7])
  monotonicMs += 2_000
  tight.advance(6.5 * segmentBytes, stored(6))
  expect(basesLeft()).toEqual([6, 7])
})

test('after a restart of the database, no stored segment is deleted early until the replay has passed it', () => {
  fillWithSegments(4)
  const checkpoints = open({ earlyDeletionBytes: 0 })
  checkpoints.databaseRestarted()
  checkpoints.advance(2.5 * segmentBytes, stored(2))
  checkpoints.beginReplay()
  monotonicMs += 2_000
  checkpoints.keep()
  expect(basesLeft()).toEqual([0, 1, 2, 3])
  monotonicMs += 2_000
  checkpoints.advance(2.5 * segmentBytes, stored(2))
  expect(basesLeft()).toEqual([2, 3])
})

test('a process that has lost the lock of the folder writes and deletes nothing', () => {
  fillWithSegments(4)
  const checkpoints = open({ earlyDeletionBytes: 0, isHeld: false })
  checkpoints.advance(2.5 * segmentBytes, stored(2))
  checkpoints.close()
  expect(readCheckpoint(folder)).toBeUndefined()
  expect(basesLeft()).toEqual([0, 1, 2, 3])
})
