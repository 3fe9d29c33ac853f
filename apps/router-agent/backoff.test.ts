import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBackoff } from './backoff.ts'

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('delays double up to the maximum, each in the upper half of its range', () => {
  fc.assert(
    fc.property(fc.array(fraction, { minLength: 1, maxLength: 40 }), (draws) => {
      let draw = 0
      const backoff = createBackoff({ baseMs: 100, maxMs: 10_000, random: () => draws[draw++] ?? 0 })
      draws.forEach((_, failures) => {
        const ceilingMs = Math.min(10_000, 100 * 2 ** failures)
        const delayMs = backoff.next()
        expect(delayMs).toBeGreaterThanOrEqual(ceilingMs / 2)
        expect(delayMs).toBeLessThanOrEqual(ceilingMs)
      })
      backoff.reset()
      expect(backoff.next()).toBeLessThanOrEqual(100)
    }),
  )
})

test('delays are at least Retry-After and at most a fifth longer', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 600_000 }), fraction, (retryAfterMs, draw) => {
      const delayMs = createBackoff({ baseMs: 10, random: () => draw }).next(retryAfterMs)
      expect(delayMs).toBeGreaterThanOrEqual(retryAfterMs)
      expect(delayMs).toBeLessThanOrEqual(retryAfterMs * 1.2)
    }),
  )
})
