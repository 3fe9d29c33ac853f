import type { LockedJob } from '#fleet/jobs/changes/locking'
import { heldBecauseSql } from '#fleet/jobs/model/good-moment'

type ExclusivePlan = {
  /** Wanted jobs that must wait until their device is free. */
  blocked: LockedJob[]
  /** Dispatched jobs that release their device to a wanted one, because their device may not take them now. */
  recalled: LockedJob[]
}

/**
 * Decides which of the wanted jobs may be dispatched, since a device has one exclusive job at a time. Older jobs come
 * first. A job whose batch is paused or outside its window, or which waits for a good moment (`handsOut` is false), does not
 * block others, unless the device has taken it. `locked` holds the wanted jobs and all open exclusive jobs of their devices, in order of creation.
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
  const candidates = exclusive.filter((job) => isDue(job, nowMs))
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
  // These are dispatched only to devices that have no other exclusive job.
  for (const job of candidates.filter((candidate) => !handsOut(candidate) && wanted.includes(candidate))) {
    if (busy.has(job.deviceId) || idle.has(job.deviceId)) plan.blocked.push(job)
    else busy.add(job.deviceId)
  }
  return plan
}

const isDue = ({ state, hold }: LockedJob, nowMs: number): boolean =>
  state.status === 'queued' && hold !== 'rollout' && (state.notBeforeMs === null || state.notBeforeMs <= nowMs)

/** SQL condition: jobs of the left-joined job_batch `batch` are delivered now. A job without one always is. */
export const batchDeliversSql = (batch: string): string =>
  `(${batch}.id IS NULL OR ${batch}.status = 'running' AND ${batch}.window_open)`

/** SQL condition: the device of job `job` may take it: its batch delivers, and the good moment that it waits for has come. */
export const handsOutSql = (job: string, batch: string): string =>
  `(${batchDeliversSql(batch)} AND ${heldBecauseSql(job, batch)} IS NULL)`

/** SQL condition on a row of `job`: it waits for its device, which is free for it. */
export const isFreeSql = `status = 'queued' AND hold = 'device' AND NOT EXISTS (
  SELECT FROM job rival LEFT JOIN job_batch theirs ON theirs.id = rival.batch_id
    LEFT JOIN job_batch own ON own.id = job.batch_id
  WHERE rival.device_id = job.device_id AND rival.exclusive AND (rival.status = 'inProgress'
    OR rival.status = 'dispatched' AND (${handsOutSql('rival', 'theirs')} OR NOT ${handsOutSql('job', 'own')})))`
