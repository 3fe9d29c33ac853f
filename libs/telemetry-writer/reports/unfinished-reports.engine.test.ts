import { expect, test } from 'vitest'
import { createUnfinishedReports } from './unfinished-reports.ts'

test('returns the oldest report whose device still has rows to realign', () => {
  const working = new Set(['a', 'b'])
  const unfinished = createUnfinishedReports((deviceId) => working.has(deviceId))
  expect(unfinished.oldest()).toBeUndefined()
  unfinished.note('a', 300)
  unfinished.note('b', 500)
  // Reports of quiet devices are processed out of order.
  unfinished.note('a', 200)
  expect(unfinished.oldest()).toBe(200)
  working.delete('a')
  expect(unfinished.oldest()).toBe(500)
  working.add('a')
  expect(unfinished.oldest()).toBe(500)
  working.clear()
  expect(unfinished.oldest()).toBeUndefined()
})
