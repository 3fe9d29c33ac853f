import { z } from 'zod'
import { type StagedJobs, stagePosition } from '#fleet/jobs/model/stage-position'
import { stagesSchema } from '#fleet/jobs/model/stages'

const share = z.number().min(1).max(100)

/** How fast a batch dispatches its jobs, and when it stops. */
export const rolloutSchema = z
  .strictObject({
    maxPerMinute: z.int().min(1).max(100_000).optional().describe('Jobs released in any 60 s.'),
    maxConcurrent: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Jobs that are dispatched or in progress at a time.'),
    canary: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe(
        'Number of devices in the first stage. Without a limit for failures, one failed canary cancels the rest.',
      ),
    stages: stagesSchema
      .optional()
      .describe(
        'The stages after the canaries. Each starts when all jobs of the stages before it have ended. The remaining devices form the last stage.',
      ),
    advanceWhenEndedPct: share
      .optional()
      .describe('The next stage starts when this share of the released jobs has ended. Default 100.'),
    stageWaitMinutes: z
      .int()
      .min(1)
      .max(10_080)
      .optional()
      .describe('Time between the end of a stage and the start of the next one.'),
    confirmStages: z.boolean().optional().describe('Pauses the batch after each stage until it is resumed.'),
    pauseWhenFailedPct: share
      .optional()
      .describe(
        'Pauses the batch when this share of the devices up to the current stage has failed. Failures before a resume or a retry no longer count.',
      ),
    abortWhenFailedPct: share
      .optional()
      .describe(
        'Cancels the remaining jobs when this share of the devices up to the current stage has failed. Failures before a retry no longer count.',
      ),
  })
  .meta({ id: 'Rollout' })

export type Rollout = z.infer<typeof rolloutSchema>

export type Release = { atMs: number; count: number }

export type RolloutFigures = StagedJobs & {
  succeeded: number
  recentReleases: readonly Release[]
  /** When the current stage ended; null while it runs. */
  stageEndedAtMs: number | null
  /** Number of stages after which an operator resumed the batch. */
  confirmedStages: number
  /** Failures at the time of the last resume. They no longer pause the batch. */
  acceptedFailures: number
}

export type PauseReason = 'failures' | 'stage'

type RolloutStep =
  | { action: 'abort' }
  | { action: 'pause'; because: PauseReason; stage: number }
  /** The current stage has ended. The next one waits. */
  | { action: 'endStage' }
  /** Releases jobs of a stage, or none. `startsStage`: these are its first ones. */
  | { action: 'release'; count: number; stage: number; startsStage: boolean }

const minuteMs = 60_000

export const withinLastMinute = (releases: readonly Release[], nowMs: number): Release[] =>
  releases.filter(({ atMs }) => atMs > nowMs - minuteMs)

/** Decides the next step of a batch: to release held jobs, or to wait, pause or abort. */
export function rolloutStep(rollout: Rollout, figures: RolloutFigures, nowMs: number): RolloutStep {
  const { held, open, succeeded } = figures
  const { stage, end, ended, failed, isReleased, next, leftIn } = stagePosition(rollout, figures)
  const isReached = (count: number, limitPct: number | undefined) =>
    limitPct !== undefined && count > 0 && count * 100 >= limitPct * end

  const { abortWhenFailedPct, pauseWhenFailedPct } = rollout
  const isCanary = rollout.canary !== undefined && stage === 0
  const hasLimit = abortWhenFailedPct !== undefined || pauseWhenFailedPct !== undefined
  if (isReached(failed, abortWhenFailedPct) || (isCanary && !hasLimit && failed > 0)) return { action: 'abort' }
  if (isReached(failed - figures.acceptedFailures, pauseWhenFailedPct))
    return { action: 'pause', because: 'failures', stage }

  const isStageEnd = held > 0 && isReleased && ended * 100 >= end * (rollout.advanceWhenEndedPct ?? 100)
  // A first stage whose jobs all expired or were cancelled proves nothing.
  if (isStageEnd && stage === 0 && ended === end && succeeded === 0 && figures.acceptedFailures === 0)
    return { action: 'abort' }
  if (isStageEnd) {
    if (figures.stageEndedAtMs === null) return { action: 'endStage' }
    if (rollout.confirmStages && figures.confirmedStages <= stage) return { action: 'pause', because: 'stage', stage }
    if (nowMs < figures.stageEndedAtMs + (rollout.stageWaitMinutes ?? 0) * minuteMs)
      return { action: 'release', count: 0, stage, startsStage: false }
  }
  const runs = isStageEnd ? next : stage
  const recent = withinLastMinute(figures.recentReleases, nowMs).reduce((sum, { count }) => sum + count, 0)
  const room = [
    held,
    leftIn(runs),
    rollout.maxPerMinute === undefined ? held : rollout.maxPerMinute - recent,
    rollout.maxConcurrent === undefined ? held : rollout.maxConcurrent - open,
  ]
  const startsStage = figures.stageTimes[runs]?.startedAt == null
  return { action: 'release', count: Math.max(0, Math.min(...room)), stage: runs, startsStage }
}
