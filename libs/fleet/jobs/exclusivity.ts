import type { LockedJob } from '#fleet/jobs/write'

export type ExclusivePlan = {
  /** Wanted jobs that wait until their device is free. */
  blocked: LockedJob[]
  /** Dispatched jobs that give their device to a wanted one, because their batch hands nothing out. */
  recalled: LockedJob[]
}

/**
 * Decides which of the wanted jobs may go, since a device has one exclusive job at a time. Jobs go in order of creation,
 * but one whose batch hands nothing out (`handsOut` is false: paused, or outside its window) does not make others wait,
 * unless the device has taken it. `locked` holds the wanted jobs and all open exclusive jobs of their devices, in order
 * of creation.
 */
export function planExclusiveJobs(
  locked: readonly LockedJob[],
  wanted: readonly LockedJob[],
  handsOut: (job: LockedJob) => boolean,
  nowMs: number,
): ExclusivePlan {
  const exclusive = locked.filter((job) => job.exclusive)
  const dispatched = exclusive.filter(({ state }) => state.status === 'dispatched')
  const idle = new Map(dispatched.filter((job) => !handsOut(job)).map((job) => [job.deviceId, job]))
  const busy = new Set(
    exclusive
      .filter((job) => job.state.status === 'inProgress' || (job.state.status === 'dispatched' && handsOut(job)))
      .map(({ deviceId }) => deviceId),
  )
  const candidates = exclusive.filter((job) => mayGo(job, nowMs))
  const plan: ExclusivePlan = { blocked: [], recalled: [] }
  for (const job of candidates.filter(handsOut)) {
    const isWanted = wanted.includes(job)
    if (busy.has(job.deviceId)) {
      if (isWanted) plan.blocked.push(job)
      continue
    }
    busy.add(job.deviceId)
    const rival = idle.get(job.deviceId)
    if (isWanted && rival) plan.recalled.push(rival)
  }
  // These lie in the mailbox of a device that has nothing else to do.
  for (const job of candidates.filter((candidate) => !handsOut(candidate) && wanted.includes(candidate))) {
    if (busy.has(job.deviceId) || idle.has(job.deviceId)) plan.blocked.push(job)
    else busy.add(job.deviceId)
  }
  return plan
}

const mayGo = ({ state, hold }: LockedJob, nowMs: number): boolean =>
  state.status === 'queued' && hold !== 'rollout' && (state.notBeforeMs === null || state.notBeforeMs <= nowMs)

/** SQL condition: jobs of this batch, or single ones, are handed out. `batch` is the name of a left-joined job_batch. */
export const handsOutSql = (batch: string): string =>
  `(${batch}.id IS NULL OR ${batch}.status = 'running' AND ${batch}.window_open)`
