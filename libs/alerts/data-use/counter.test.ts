import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addSpan, type Counted, usedBetween } from './counter.ts'

test.each([
  ['grows', 100, 150, 50],
  ['stands still', 100, 100, 0],
  ['has started again', 100, 30, 30],
  ['has wrapped', 2 ** 32 - 10, 20, 30],
  ['fell from below 2^31', 2 ** 31 - 1, 20, 20],
  ['is wider than 32 bits and has started again', 2 ** 32, 20, 20],
])('a counter that %s', (_, last, present, used) => {
  expect(usedBetween(last, present)).toBe(used)
})

test('spans of any length have the sum of all increments', () => {
  const values = fc.array(fc.oneof(fc.nat(1_000), fc.integer({ min: 2 ** 31, max: 2 ** 33 })), { minLength: 1 })
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 7 }), (counted, length) => {
      const sum = (some: number[]) =>
        some.slice(1).reduce((total, value, index) => total + usedBetween(some[index] ?? 0, value), 0)
      const counters = new Map<string, Counted>()
      let total = 0
      for (let start = 0; start < counted.length; start += length) {
        const span = counted.slice(start, start + length)
        total += addSpan(counters, 'counter', [span[0], span.at(-1), sum(span)])
      }
      expect(total).toBe(sum(counted))
      // A span without a value changes nothing.
      expect(addSpan(counters, 'counter', [null, null, null])).toBe(0)
    }),
  )
})
