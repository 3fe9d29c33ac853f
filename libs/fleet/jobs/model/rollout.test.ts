import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Rollout, type RolloutFigures, rolloutStep } from '#fleet/jobs/model/rollout'
import { type StageTimes, stageEnds, stagesOf } from '#fleet/jobs/model/stages'

const nowMs = Date.UTC(2026, 10, 21, 12)
const figures = (change: Partial<RolloutFigures> = {}): RolloutFigures => ({
  total: 100,
  held: 100,
  open: 0,
  succeeded: 0,
  failed: 0,
  recentReleases: [],
  stageTimes: [],
  stageEndedAtMs: null,
  confirmedStages: 0,
  acceptedFailures: 0,
  ...change,
})

/** The next step, as a short text. */
const next = (rollout: Rollout, change: Partial<RolloutFigures> = {}, atMs = nowMs): string => {
  const step = rolloutStep(rollout, figures(change), atMs)
  if (step.action === 'pause') return `pause: ${step.because}`
  return step.action === 'release' ? `release ${step.count}` : step.action
}

describe('rolloutStep', () => {
  test('releases everything without limits', () => {
    expect(next({})).toBe('release 100')
  })

  test('counts the releases of the last 60 s against maxPerMinute', () => {
    const recentReleases = [
      { atMs: nowMs - 61_000, count: 50 },
      { atMs: nowMs - 10_000, count: 7 },
    ]
    expect(next({ maxPerMinute: 10 }, { held: 43, open: 57, recentReleases })).toBe('release 3')
  })

  test('the other jobs wait until every canary has succeeded', () => {
    const rollout = { canary: 5 }
    expect(next(rollout)).toBe('release 5')
    expect(next(rollout, { held: 95, open: 1, succeeded: 4 })).toBe('release 0')
    expect(next(rollout, { held: 95, succeeded: 5 })).toBe('endStage')
    expect(next(rollout, { held: 95, succeeded: 5, stageEndedAtMs: nowMs })).toBe('release 95')
  })

  test('a failed canary stops the batch, unless a share of failures is allowed', () => {
    const oneFailed = { held: 95, succeeded: 4, failed: 1, stageEndedAtMs: nowMs }
    expect(next({ canary: 5 }, oneFailed)).toBe('abort')
    expect(next({ canary: 5, abortWhenFailedPct: 20 }, oneFailed)).toBe('abort')
    expect(next({ canary: 5, abortWhenFailedPct: 21 }, oneFailed)).toBe('release 95')
    expect(next({ canary: 5, pauseWhenFailedPct: 20 }, oneFailed)).toBe('pause: failures')
    expect(next({ canary: 5, pauseWhenFailedPct: 20, abortWhenFailedPct: 20 }, oneFailed)).toBe('abort')
  })

  test('canaries that all expired or were cancelled abort the batch', () => {
    expect(next({ canary: 5 }, { held: 95 })).toBe('abort')
  })

  test('the share of failures refers to the devices up to the current stage', () => {
    expect(next({ abortWhenFailedPct: 10 }, { held: 80, failed: 9 })).toBe('release 80')
    expect(next({ abortWhenFailedPct: 10 }, { held: 80, failed: 10 })).toBe('abort')
    const rollout = { stages: [{ devices: 5 }, { percent: 45 }], abortWhenFailedPct: 10 }
    expect(next(rollout, { held: 80, open: 11, succeeded: 5, failed: 4 })).toBe('release 30')
    expect(next(rollout, { held: 80, open: 10, succeeded: 5, failed: 5 })).toBe('abort')
    expect(next(rollout, { held: 45, open: 45, succeeded: 5, failed: 5 })).toBe('release 45')
  })

  test('stages follow each other, after the wait', () => {
    const rollout = { canary: 2, stages: [{ percent: 10 }], stageWaitMinutes: 30 }
    expect(next(rollout)).toBe('release 2')
    const canariesDone = { held: 98, succeeded: 2 }
    expect(next(rollout, canariesDone)).toBe('endStage')
    const ended = { ...canariesDone, stageEndedAtMs: nowMs }
    expect(next(rollout, ended, nowMs + 29 * 60_000)).toBe('release 0')
    expect(next(rollout, ended, nowMs + 30 * 60_000)).toBe('release 10')
    expect(next(rollout, { held: 88, open: 1, succeeded: 11 })).toBe('release 0')
    expect(next(rollout, { held: 88, succeeded: 12, stageEndedAtMs: nowMs - 31 * 60_000 })).toBe('release 88')
  })

  test('the next stage can start while some jobs are still open', () => {
    const rollout = { canary: 10, advanceWhenEndedPct: 80 }
    expect(next(rollout, { held: 90, open: 3, succeeded: 7 })).toBe('release 0')
    expect(next(rollout, { held: 90, open: 2, succeeded: 8 })).toBe('endStage')
  })

  test('a batch whose stages are confirmed pauses after each of them', () => {
    const rollout = { stages: [{ devices: 10 }, { devices: 10 }], confirmStages: true }
    const firstEnded = { held: 90, succeeded: 10, stageEndedAtMs: nowMs }
    expect(next(rollout, firstEnded)).toBe('pause: stage')
    expect(next(rollout, { ...firstEnded, confirmedStages: 1 })).toBe('release 10')
    const secondEnded = { held: 80, succeeded: 20, stageEndedAtMs: nowMs, confirmedStages: 1 }
    expect(next(rollout, secondEnded)).toBe('pause: stage')
    expect(next(rollout, { ...secondEnded, confirmedStages: 2 })).toBe('release 80')
  })

  test('failures before a resume no longer pause the batch', () => {
    const rollout = { stages: [{ devices: 10 }], pauseWhenFailedPct: 20 }
    const failed = { held: 90, open: 8, failed: 2 }
    expect(next(rollout, failed)).toBe('pause: failures')
    expect(next(rollout, { ...failed, acceptedFailures: 2 })).toBe('release 0')
    expect(next(rollout, { held: 90, open: 6, failed: 4, acceptedFailures: 2 })).toBe('pause: failures')
  })

  test('a job of a later stage that ended before its stage began counts there', () => {
    const rollout = { canary: 5, stages: [{ devices: 3 }] }
    const begun = { startedAt: new Date(nowMs).toISOString(), endedAt: null }
    const [all, gone] = [
      { held: 5, open: 0, failed: 0 },
      { held: 0, open: 0, failed: 0 },
    ]
    // Of the last stage, before the start: all canaries are released, and nothing is aborted.
    const before = [all, { ...all, held: 3 }, { held: 82, open: 0, failed: 10 }]
    expect(next(rollout, { held: 90, failed: 10, byStage: before })).toBe('release 5')
    // While the canaries run: its failures do not stop the batch, and the next stage waits for the canaries.
    const running = [
      { held: 0, open: 5, failed: 0 },
      { ...all, held: 3 },
      { held: 82, open: 0, failed: 10 },
    ]
    const whileRunning = { held: 85, open: 5, failed: 10, stageTimes: [begun] }
    expect(next(rollout, { ...whileRunning, byStage: running })).toBe('release 0')
    const done = { ...whileRunning, open: 0, succeeded: 5, stageEndedAtMs: nowMs }
    expect(next(rollout, { ...done, byStage: [gone, ...running.slice(1)] })).toBe('release 3')
    // All of the second stage: the third one follows the first.
    expect(next(rollout, { ...done, held: 82, byStage: [gone, gone, { ...all, held: 82 }] })).toBe('release 82')
    // All canaries: nothing was tried.
    expect(next(rollout, { held: 95, byStage: [gone, { ...all, held: 3 }, { ...all, held: 92 }] })).toBe('abort')
  })

  test('a simulated batch never exceeds its limits and releases every job once', () => {
    const limit = fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined })
    fc.assert(
      fc.property(
        limit,
        limit,
        limit,
        fc.option(
          fc.array(
            fc.integer({ min: 1, max: 30 }).map((devices) => ({ devices })),
            { minLength: 1, maxLength: 5 },
          ),
          {
            nil: undefined,
          },
        ),
        fc.integer({ min: 1, max: 80 }),
        (maxPerMinute, maxConcurrent, canary, stages, total) => {
          const limits = Object.entries({ maxPerMinute, maxConcurrent, canary, stages }).filter(
            ([, value]) => value !== undefined,
          )
          const rollout: Rollout = Object.fromEntries(limits)
          const state = figures({ total, held: total })
          const releases: { atMs: number; count: number }[] = []
          const stageTimes: StageTimes[] = []
          let atMs = nowMs
          for (let round = 0; state.held > 0; round += 1, atMs += 7_000) {
            expect(round).toBeLessThan(2_000)
            const now = { ...state, recentReleases: releases, stageTimes }
            let step = rolloutStep(rollout, now, atMs)
            if (step.action === 'endStage') step = rolloutStep(rollout, { ...now, stageEndedAtMs: atMs }, atMs)
            if (step.action !== 'release') throw new Error(step.action)
            if (canary !== undefined && state.succeeded < Math.min(canary, total)) {
              expect(state.succeeded + state.open + step.count).toBeLessThanOrEqual(canary)
            }
            // A stage starts only when all jobs of the stages before it have ended.
            if (step.count > 0 && step.startsStage) expect(state.open).toBe(0)
            if (step.count > 0) stageTimes[step.stage] ??= { startedAt: new Date(atMs).toISOString(), endedAt: null }
            state.held -= step.count
            state.open += step.count
            if (step.count > 0) releases.push({ atMs, count: step.count })
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

describe('stages', () => {
  test('their ends add up to the batch, and stages without devices are left out', () => {
    expect(stageEnds({}, 100)).toEqual([100])
    expect(stageEnds({ canary: 5, stages: [{ percent: 25 }, { devices: 10 }] }, 100)).toEqual([5, 30, 40, 100])
    expect(stageEnds({ canary: 5, stages: [{ percent: 25 }] }, 3)).toEqual([3])
    expect(stageEnds({ stages: [{ percent: 1 }] }, 3)).toEqual([1, 3])
  })

  test('each has a state', () => {
    const at = '2026-11-21T12:00:00.000Z'
    const statesOf = (status: string, times: StageTimes[], finishedAt: string | null = null) =>
      stagesOf({ canary: 5, stages: [{ percent: 25 }] }, { status, total: 100, times, finishedAt }).map(
        (stage) => `${stage.devices} ${stage.status}`,
      )
    const [done, begun] = [
      { startedAt: at, endedAt: at },
      { startedAt: at, endedAt: null },
    ]
    expect(statesOf('running', [])).toEqual(['5 waiting', '25 waiting', '70 waiting'])
    expect(statesOf('running', [done, begun])).toEqual(['5 finished', '25 running', '70 waiting'])
    expect(statesOf('cancelled', [done, begun], at)).toEqual(['5 finished', '25 stopped', '70 stopped'])
    expect(statesOf('finished', [done, done, begun], at)).toEqual(['5 finished', '25 finished', '70 finished'])
    const leftOut = { startedAt: null, endedAt: null }
    expect(statesOf('running', [done, leftOut, begun])).toEqual(['5 finished', '25 finished', '70 running'])
    expect(statesOf('finished', [done], at)).toEqual(['5 finished', '25 finished', '70 finished'])
  })
})
