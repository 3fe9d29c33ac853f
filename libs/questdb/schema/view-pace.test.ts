import { expect, test } from 'vitest'
import { refreshPeriodMinutes } from './view-pace.ts'

const seconds = (count: number) => count / 60

test('a view is refreshed each minute while a refresh takes a few seconds', () => {
  expect(refreshPeriodMinutes(seconds(0), 1)).toBe(1)
  expect(refreshPeriodMinutes(seconds(8), 1)).toBe(1)
})

test('the longer a refresh takes, the longer is the period', () => {
  expect([10, 30, 80, 130, 3_600].map((took) => refreshPeriodMinutes(seconds(took), 1))).toEqual([2, 5, 10, 20, 20])
})

test('the period becomes shorter step by step when refreshes are short again, and stays while they are not clearly shorter', () => {
  expect([20, 10, 5, 2, 1].map((present) => refreshPeriodMinutes(seconds(1), present))).toEqual([10, 5, 2, 1, 1])
  expect(refreshPeriodMinutes(seconds(12), 5)).toBe(5)
  expect(refreshPeriodMinutes(seconds(40), 10)).toBe(10)
})
