import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Rollout, type RolloutFigures, rolloutStep } from '#fleet/jobs/model/rollout'
import { isWindowOpen, scheduleSchema } from '#fleet/jobs/model/schedule'

const nowMs = Date.UTC(2026, 10, 21, 12)
const figures = (change: Partial<RolloutFigures> = {}): RolloutFigures => ({
  total: 100,
  held: 100,
  open: 0,
  succeeded: 0,
  failed: 0,
  recentReleases: [],
  ...change,
})

describe('rolloutStep', () => {
  test('releases everything without limits', () => {
    expect(rolloutStep({}, figures(), nowMs)).toEqual({ abort: false, release: 100 })
  })

  test('counts the releases of the last 60 s against maxPerMinute', () => {
    const recentReleases = [
      { atMs: nowMs - 61_000, count: 50 },
      { atMs: nowMs - 10_000, count: 7 },
    ]
    const step = rolloutStep({ maxPerMinute: 10 }, figures({ held: 43, open: 57, recentReleases }), nowMs)
    expect(step.release).toBe(3)
  })

  test('the other jobs wait until every canary has succeeded', () => {
    const rollout = { canary: 5 }
    expect(rolloutStep(rollout, figures(), nowMs).release).toBe(5)
    expect(rolloutStep(rollout, figures({ held: 95, open: 1, succeeded: 4 }), nowMs).release).toBe(0)
    expect(rolloutStep(rollout, figures({ held: 95, succeeded: 5 }), nowMs).release).toBe(95)
  })

  test('a failed canary stops the batch, unless a share of failures is allowed', () => {
    const oneFailed = figures({ held: 95, succeeded: 4, failed: 1 })
    expect(rolloutStep({ canary: 5 }, oneFailed, nowMs).abort).toBe(true)
    expect(rolloutStep({ canary: 5, abortWhenFailedPct: 20 }, oneFailed, nowMs).abort).toBe(true)
    expect(rolloutStep({ canary: 5, abortWhenFailedPct: 21 }, oneFailed, nowMs)).toEqual({ abort: false, release: 95 })
  })

  test('canaries that all expired or were cancelled abort the batch', () => {
    expect(rolloutStep({ canary: 5 }, figures({ held: 95 }), nowMs).abort).toBe(true)
  })

  test('the share of failures refers to the whole batch', () => {
    expect(rolloutStep({ abortWhenFailedPct: 10 }, figures({ held: 80, failed: 9 }), nowMs).abort).toBe(false)
    expect(rolloutStep({ abortWhenFailedPct: 10 }, figures({ held: 80, failed: 10 }), nowMs).abort).toBe(true)
  })

  test('a simulated batch never exceeds its limits and releases every job once', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined })
    fc.assert(
      fc.property(
        limit,
        limit,
        limit,
        fc.integer({ min: 1, max: 80 }),
        (maxPerMinute, maxConcurrent, canary, total) => {
          const limits = Object.entries({ maxPerMinute, maxConcurrent, canary }).filter(
            ([, value]) => value !== undefined,
          )
          const rollout: Rollout = Object.fromEntries(limits)
          const state = figures({ total, held: total })
          const releases: { atMs: number; count: number }[] = []
          let atMs = nowMs
          for (let round = 0; state.held > 0; round += 1, atMs += 7_000) {
            expect(round).toBeLessThan(2_000)
            const step = rolloutStep(rollout, { ...state, recentReleases: releases }, atMs)
            expect(step.abort).toBe(false)
            if (canary !== undefined && state.succeeded < Math.min(canary, total)) {
              expect(state.succeeded + state.open + step.release).toBeLessThanOrEqual(canary)
            }
            state.held -= step.release
            state.open += step.release
            if (step.release > 0) releases.push({ atMs, count: step.release })
            expect(state.open).toBeLessThanOrEqual(maxConcurrent ?? total)
            const lastMinute = releases.filter((release) => release.atMs > atMs - 60_000)
            expect(lastMinute.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(maxPerMinute ?? total)
            if (round % 2 === 1) {
              state.succeeded += state.open
              state.open = 0
            }
          }
        },
      ),
    )
  })
})

describe('windows', () => {
  const at = (text: string) => Date.parse(text)

  test('a window applies in its own time zone, in summer and winter', () => {
    const window = { from: '02:00', to: '04:00', timeZone: 'Europe/Berlin' }
    expect(isWindowOpen(window, at('2026-07-01T00:30:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-12-01T00:30:00Z'))).toBe(false)
    expect(isWindowOpen(window, at('2026-12-01T01:00:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-12-01T03:00:00Z'))).toBe(false)
  })

  test('a window past midnight belongs to the day it began on', () => {
    const window = { days: ['fri' as const], from: '22:00', to: '02:00', timeZone: 'UTC' }
    expect(isWindowOpen(window, at('2026-11-20T23:00:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-11-21T01:59:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-11-21T22:30:00Z'))).toBe(false)
    expect(isWindowOpen(window, at('2026-11-20T01:00:00Z'))).toBe(false)
  })

  test('refuses an empty schedule, an unknown time zone and an empty window', () => {
    expect(scheduleSchema.safeParse({}).success).toBe(false)
    const window = { from: '01:00', to: '02:00', timeZone: 'Mars/Olympus' }
    expect(scheduleSchema.safeParse({ window }).success).toBe(false)
    expect(scheduleSchema.safeParse({ window: { from: '01:00', to: '01:00', timeZone: 'UTC' } }).success).toBe(false)
  })
})
