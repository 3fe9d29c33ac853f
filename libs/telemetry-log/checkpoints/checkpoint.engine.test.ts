import { expect, test } from 'vitest'
import { type Checkpoint, readStart } from './checkpoint.ts'

const checkpoint: Checkpoint = {
  position: 900,
  counts: { stored: 9, replaced: 0, deadLettered: 0 },
  atMs: 0,
  history: [{ position: 100, atMs: 0 }],
  serverStartMs: 7,
  resumePosition: 800,
}

test('a server that was not restarted has all rows before the resume position', () => {
  expect(readStart(checkpoint, 7)).toBe(800)
})

test('a restarted or unknown server, or a checkpoint of an earlier version, requires the whole replay window', () => {
  const { position, counts, atMs, history } = checkpoint
  expect(readStart(checkpoint, 8)).toBe(100)
  expect(readStart(checkpoint, undefined)).toBe(100)
  expect(readStart({ position, counts, atMs, history }, 7)).toBe(100)
})

test('unfinished work does not extend the replay beyond the replay window', () => {
  expect(readStart({ ...checkpoint, resumePosition: 50 }, 7)).toBe(100)
})
