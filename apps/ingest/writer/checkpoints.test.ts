import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readCheckpoint } from '#telemetry-log/checkpoint'
import { openCheckpoints } from './checkpoints.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoints-'))
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

const stored = (samples: number) => ({ stored: samples, replaced: 0, deadLettered: 0 })

test('a checkpoint that finds no room leaves the one before it, and follows when there is room', () => {
  const checkpoints = openCheckpoints(folder, 1_000)
  checkpoints.advance(100, stored(1))
  const draft = join(folder, 'checkpoint.json.next')
  // Whatever is written there is answered ENOSPC.
  symlinkSync('/dev/full', draft)
  vi.advanceTimersByTime(2_000)
  checkpoints.advance(200, stored(2))
  expect(readCheckpoint(folder)?.position).toBe(100)
  expect(checkpoints.current()).toMatchObject({ position: 200, counts: stored(2) })
  rmSync(draft)
  checkpoints.keep()
  expect(readCheckpoint(folder)).toMatchObject({ position: 200, counts: stored(2) })
})
