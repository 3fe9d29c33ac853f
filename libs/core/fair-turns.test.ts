import { setImmediate as nextLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFairTurns } from '#core/fair-turns'

/** A clock that moves only when work says so. */
function createWork() {
  let nowMs = 0
  const done: string[] = []
  const turns = createFairTurns(20, () => nowMs)
  const run = (deviceId: string, costMs: number) =>
    turns.run(deviceId, () => {
      nowMs += costMs
      done.push(deviceId)
      return deviceId
    })
  return { run, done }
}

test('cheap work runs at once, without a promise', () => {
  const { run, done } = createWork()
  for (let index = 0; index < 19; index++) expect(run('a', 1)).toBe('a')
  expect(done).toHaveLength(19)
})

test('a device with much expensive work delays another device by one piece', async () => {
  const { run, done } = createWork()
  const all = Array.from({ length: 10 }, () => run('noisy', 30))
  all.push(run('quiet', 1))
  expect(done).toEqual(['noisy'])
  await Promise.all(all)
  expect(done.indexOf('quiet')).toBe(2)
  expect(done).toHaveLength(11)
})

test('serves connections between pieces of expensive work and keeps the order of each device', async () => {
  const { run, done } = createWork()
  const order: number[] = []
  const all = Array.from({ length: 5 }, async (_, index) => {
    await run('noisy', 30)
    order.push(index)
  })
  const seen: number[] = []
  while (seen.at(-1) !== 5) {
    seen.push(done.length)
    await nextLoop()
  }
  await Promise.all(all)
  expect(order).toEqual([0, 1, 2, 3, 4])
  expect(seen.length).toBeGreaterThanOrEqual(5)
})

test('work that throws rejects only for its caller', async () => {
  const { run } = createWork()
  const turns = createFairTurns(20)
  expect(() =>
    turns.run('a', () => {
      throw new Error('bad')
    }),
  ).toThrow('bad')
  run('a', 30)
  await expect(run('b', 1)).resolves.toBe('b')
})
