import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createFlushScheduler } from './flush-scheduler.ts'
import { createRowBatch, fates } from './row-batch.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const origin = { deviceId: 'd', organizationId: 'o', receivedAtMs: 1 }

/** Adds 3,000 rows ten times a second for some seconds. Returns the seconds at which rows are sent. */
async function sentAt(seconds: number, { isBehind = false, devices = 1_000 }): Promise<number[]> {
  const rows = createRowBatch()
  const sent: number[] = []
  let atMs = 0
  const store = {
    async store() {
      sent.push(atMs / 1_000)
      return { stored: 0, replaced: 0, deadLettered: 0 }
    },
  }
  const flushes = createFlushScheduler({
    rows,
    store,
    isBacklogged: () => isBehind,
    isBehind: () => isBehind,
    devices: () => devices,
    onFlush: () => () => {},
  })
  for (; atMs < seconds * 1_000; atMs += 100, vi.advanceTimersByTime(100)) {
    for (let row = 0; row < 3_000; row++) rows.append('system', { tsMs: atMs + row }, origin, fates.stored, 'fresh')
    flushes.noteAdded()
    await flushes.flushWhenDue()
    await flushes.inProgress()
  }
  return sent
}

test('many rows are sent once a second', async () => {
  expect(await sentAt(3, {})).toEqual([0.1, 1.1, 2.1])
})

test('many rows of a large fleet are sent less often, but within three seconds', async () => {
  expect(await sentAt(4, { devices: 150_000 })).toEqual([0.1, 1.6, 3.1])
  // Not later, because 4 MiB are sent at once.
  expect(await sentAt(6, { devices: 1_000_000 })).toEqual([0.1, 2.7, 5.3])
})

test('rows of a writer that is behind are sent less often, but within three seconds', async () => {
  expect(await sentAt(6, { isBehind: true })).toEqual([0.1, 2.9, 5.7])
})
