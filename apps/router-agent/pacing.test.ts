import { expect, test } from 'vitest'
import { createPacing } from './pacing.ts'

test('is due from its first time on, and then when its time has passed', () => {
  const isDue = createPacing(60, 100)
  expect([50, 99, 100, 101, 159, 160, 300].map(isDue)).toEqual([false, false, true, false, false, true, true])
  expect([5, 6].map(createPacing(60))).toEqual([true, false])
})

test('is due after the clock was set back, and not again at once', () => {
  const isDue = createPacing(60, 7_200)
  expect([7_200, 7_210, 10, 20, 69, 70].map(isDue)).toEqual([true, false, true, false, false, true])
})
