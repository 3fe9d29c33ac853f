import { expect, test } from 'vitest'
import type { Checkpoint } from '#telemetry-log/checkpoints/checkpoint'
import {
  type CommittedOffset,
  decodeCheckpoint,
  encodeCheckpoint,
  openKafkaCheckpoints,
  startingAt,
} from './kafka-checkpoints.ts'

const checkpoint = (position: number): Checkpoint => ({
  position,
  counts: { stored: position, replaced: 2, deadLettered: 1 },
  atMs: 2_000,
  history: [
    { position: 40, atMs: 1_000 },
    { position: 90, atMs: 1_500 },
  ],
  serverStartMs: 500,
  resumePosition: 95,
})

test('the committed offset is the start of the replay window, and the metadata holds the rest', () => {
  const committed = encodeCheckpoint(checkpoint(100))
  expect(committed.offset).toBe(40)
  expect(decodeCheckpoint(committed)).toEqual({ ...checkpoint(100), history: [{ position: 40, atMs: 1_000 }] })
})

test('without usable metadata, the partition is read from the committed offset', () => {
  const behind = encodeCheckpoint(checkpoint(100)).metadata
  for (const metadata of ['', 'not JSON', '{}', behind]) {
    expect(decodeCheckpoint({ offset: 200, metadata })).toEqual(startingAt(200))
  }
})

test('one commit is in progress at a time, the newest checkpoint follows it, and a failed one is committed again', async () => {
  const committed: CommittedOffset[] = []
  const failures: unknown[] = []
  let finish: (error?: Error) => void = () => {}
  const store = openKafkaCheckpoints({
    start: startingAt(7),
    commit: (offset) => {
      committed.push(offset)
      return new Promise((resolve, reject) => {
        finish = (error) => (error ? reject(error) : resolve())
      })
    },
    onFailure: (error) => failures.push(error),
  })
  expect(store.read()).toEqual(startingAt(7))
  for (const position of [100, 101, 102]) expect(store.write(checkpoint(position))).toBe(true)
  const positions = () => committed.map((offset) => decodeCheckpoint(offset).position)
  expect(positions()).toEqual([100])
  finish()
  await expect.poll(positions).toEqual([100, 102])
  finish(new Error('away'))
  await expect.poll(() => failures.length).toBeGreaterThan(0)
  const flushed = store.flush()
  await expect.poll(positions).toEqual([100, 102, 102])
  finish()
  await flushed
  await store.flush()
  expect(committed).toHaveLength(3)
})
