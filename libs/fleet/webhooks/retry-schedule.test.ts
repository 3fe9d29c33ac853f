import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxRetryAfterMs, nextAttemptMs, retryAfterMs, retryDelaysMs, retryPeriodMs } from './retry-schedule.ts'

const hourMs = 3_600_000
const nowMs = Date.parse('2026-05-04T12:00:00Z')

describe('nextAttemptMs', () => {
  const attempt = { failures: 1, firstMs: nowMs, nowMs, retryAfterMs: 0, random: 0.5 }

  test('retries for 72 hours after the first attempt, the last time at their end', () => {
    const delaysMs: number[] = []
    let atMs: number | undefined = nowMs
    for (let failures = 1; atMs !== undefined; failures++) {
      const nextMs: number | undefined = nextAttemptMs({ ...attempt, failures, nowMs: atMs })
      if (nextMs !== undefined) delaysMs.push(nextMs - atMs)
      atMs = nextMs
    }
    expect(delaysMs.slice(0, 9)).toEqual(retryDelaysMs)
    expect(delaysMs.slice(9, -1)).toEqual(Array.from({ length: 7 }, () => 8 * hourMs))
    expect(delaysMs.reduce((sum, ms) => sum + ms)).toBe(72 * hourMs)
  })

  test('makes delays up to a fifth shorter or longer', () => {
    const delayOf = (random: number) => Number(nextAttemptMs({ ...attempt, failures: 6, random })) - nowMs
    expect([0, 0.5, 1].map(delayOf)).toEqual([0.8 * hourMs, hourMs, 1.2 * hourMs])
  })

  test('is not before the time that the receiver asked for, of at most a day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: retryPeriodMs + hourMs }),
        fc.integer({ min: 0, max: 100 * hourMs }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (failures, sinceMs, askedMs, random) => {
          const firstMs = nowMs - sinceMs
          const nextMs = nextAttemptMs({ failures, firstMs, nowMs, retryAfterMs: askedMs, random })
          if (nextMs === undefined) return sinceMs >= retryPeriodMs
          const boundMs = Math.min(askedMs, maxRetryAfterMs)
          return nextMs >= nowMs + boundMs && nextMs <= Math.max(firstMs + retryPeriodMs, nowMs + boundMs)
        },
      ),
    )
  })
})

describe('retryAfterMs', () => {
  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Mon, 04 May 2026 12:00:30 GMT', 30_000],
    ['Mon, 04 May 2026 11:59:30 GMT', 0],
    ['-5', 0],
    ['1.5', 0],
    ['soon', 0],
    ['2026-05-05T12:00:00Z', 0],
    ['Mon, 99 May 2026 12:00:30 GMT', 0],
    [undefined, 0],
  ])('%s is %i ms', (header, expected) => {
    expect(retryAfterMs(header, nowMs)).toBe(expected)
  })
})
