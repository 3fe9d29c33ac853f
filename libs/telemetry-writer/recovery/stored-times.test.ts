import { expect, test } from 'vitest'
import { createStoredTimes } from './stored-times.ts'

test('a time counts when everything that was in the log is stored and applied', () => {
  const times = createStoredTimes()
  times.ended(1_000, 10)
  times.ended(2_000, 20)
  times.settled(15, 50)
  expect(times.storedToMs(49)).toBeUndefined()
  expect(times.storedToMs(50)).toBe(1_000)
  times.settled(20, 60)
  expect(times.storedToMs(59)).toBe(1_000)
  expect(times.storedToMs(60)).toBe(2_000)
})

test('an empty partition is stored at each time', () => {
  const times = createStoredTimes()
  times.ended(1_000, 0)
  times.settled(0, 50)
  times.ended(2_000, 0)
  times.settled(0, 52)
  expect(times.storedToMs(53)).toBe(2_000)
})

test('after a restart of the database, nothing counts until it is stored again', () => {
  const times = createStoredTimes()
  times.ended(1_000, 10)
  times.settled(10, 50)
  expect(times.storedToMs(60)).toBe(1_000)
  times.restart()
  times.ended(3_000, 10)
  expect(times.storedToMs(70)).toBeUndefined()
  times.settled(10, 80)
  expect(times.storedToMs(90)).toBe(3_000)
})

test('a long outage keeps a limited number of times', () => {
  const times = createStoredTimes()
  for (let second = 0; second < 10_000; second++) times.ended(second * 1_000, second)
  times.settled(9_000, 50)
  const storedToMs = times.storedToMs(60) ?? 0
  expect(storedToMs).toBeGreaterThan(5_000_000)
  expect(storedToMs).toBeLessThanOrEqual(9_000_000)
})
