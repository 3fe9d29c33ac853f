import { type StagePlan, type StageTimes, stageAt, stageEnds } from '#fleet/jobs/model/stages'

/** The jobs of one stage: those that it has not released, those that are released and not ended, and those that failed. */
export type StageCounts = { held: number; open: number; failed: number }

/** The part of a batch that decides where its rollout is. */
export type StagedJobs = {
  total: number
  /** Queued and not yet released by the rollout. */
  held: number
  /** Released and not ended. */
  open: number
  /** Failed, timed out or rejected. */
  failed: number
  stageTimes: readonly StageTimes[]
  /** The counts of each stage. Without them, all jobs that are not held count as the first ones of the batch. */
  byStage?: readonly StageCounts[] | undefined
}

/** Where a rollout is. */
export type StagePosition = {
  /** The current stage. */
  stage: number
  /** How many devices it and the stages before it have. */
  end: number
  /** How many of their jobs have ended, and how many of them without success. */
  ended: number
  failed: number
  /** All jobs up to its end are released. */
  isReleased: boolean
  /** The stage that follows it. */
  next: number
  /** How many jobs a stage may still release, if it is the current or the next one. */
  leftIn(stage: number): number
}

/** Returns where the rollout of a batch is. */
export function stagePosition(plan: StagePlan, jobs: StagedJobs): StagePosition {
  const ends = stageEnds(plan, jobs.total)
  return jobs.byStage === undefined ? countedPosition(ends, jobs) : exactPosition(ends, jobs, jobs.byStage)
}

function countedPosition(ends: readonly number[], { total, held, open, failed }: StagedJobs): StagePosition {
  const released = total - held
  const stage = stageAt(ends, released)
  const end = ends[stage] ?? total
  return {
    ...{ stage, end, ended: released - open, failed, isReleased: released === end, next: stage + 1 },
    leftIn: (other) => (ends[other] ?? total) - released,
  }
}

/**
 * A job that ended before its stage began, for example because its device was deleted, is in its own stage here, and not among
 * those that the current stage has released.
 */
function exactPosition(
  ends: readonly number[],
  { total, stageTimes }: StagedJobs,
  byStage: readonly StageCounts[],
): StagePosition {
  const firstHeld = byStage.findIndex(({ held }) => held > 0)
  const first = firstHeld === -1 ? byStage.length - 1 : firstHeld
  const started = stageTimes.findLastIndex(({ startedAt }) => startedAt !== null)
  const isReleased = firstHeld > 0 && started < firstHeld
  const stage = isReleased ? Math.max(0, started) : first
  const end = ends[isReleased ? first - 1 : first] ?? total
  const within = byStage.slice(0, isReleased ? first : first + 1)
  const waiting = within.reduce((sum, { held, open }) => sum + held + open, 0)
  return {
    ...{ stage, end, ended: end - waiting, failed: within.reduce((sum, { failed }) => sum + failed, 0) },
    ...{ isReleased, next: first, leftIn: (other) => byStage[other]?.held ?? 0 },
  }
}
