import { deliverySql, heldBecauseSql, type JobDelivery } from '#fleet/jobs/model/good-moment'
import type { JobKind } from '#fleet/jobs/model/kinds'
import { expiresAtSql, isHeldBackSql } from '#fleet/jobs/model/lifetime'
import type { Schedule } from '#fleet/jobs/model/schedule'
import type { JobState } from '#fleet/jobs/model/states'
import { epochMs } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/**
 * Why the relay does not offer a queued job individually. `fresh`: its batch offers it as part of a slice, because the job
 * has not changed since it was created. `rollout`: the schedule or rollout of its batch holds it back. `device`: another
 * exclusive job occupies its device.
 */
type JobHold = 'fresh' | 'rollout' | 'device'

/** A job whose row the transaction has locked. `changeJobs` keeps `state` up to date. */
export type LockedJob = {
  id: string
  organizationId: string
  batchId: string | null
  deviceId: string
  kind: JobKind
  exclusive: boolean
  hold: JobHold | null
  lifetimeS: number
  /** When its batch may run; null: at any time. */
  schedule: Schedule | null
  /** What it waits for; null: nothing. */
  delivery: JobDelivery | null
  state: JobState
}

type JobRow = Omit<LockedJob, 'state'> &
  Omit<JobState, 'error'> & { errorCode: string | null; errorDetail: string | null }

/**
 * Locks the jobs that the sub-select `selectIds` returns, and reads them. All transactions lock jobs in order of id, which
 * prevents most deadlocks. `selectIds` may refer to `values` as $1, $2, ….
 */
export async function lockJobs(
  connection: Connection,
  selectIds: string,
  values: readonly unknown[],
): Promise<LockedJob[]> {
  const { rows } = await connection.query<JobRow>(
    `SELECT j.id, j.organization_id AS "organizationId", j.batch_id AS "batchId", j.device_id AS "deviceId", j.kind,
       j.exclusive, j.hold, j.lifetime_s AS "lifetimeS", b.schedule,
       ${deliverySql('j', 'b')} AS delivery, ${heldBecauseSql('j', 'b')} AS "heldBecause", j.status, j.attempt, j.max_attempts AS "maxAttempts",
       ${epochMs('j.not_before')} AS "notBeforeMs", ${epochMs('j.deadline_at')} AS "deadlineAtMs",
       ${epochMs(expiresAtSql)} AS "expiresAtMs", ${isHeldBackSql} AS "isHeldBack",
       j.cancel_requested AS "cancelRequested", j.acknowledged, j.progress, j.result, j.error_code AS "errorCode",
       j.error_detail AS "errorDetail"
     FROM job j LEFT JOIN job_batch b ON b.id = j.batch_id AND b.organization_id = j.organization_id
     WHERE j.id IN (${selectIds}) ORDER BY j.id FOR UPDATE OF j`,
    [...values],
  )
  return rows.map(toLockedJob)
}

function toLockedJob(row: JobRow): LockedJob {
  const { id, organizationId, batchId, deviceId, kind, exclusive, hold, lifetimeS, schedule, delivery, ...rest } = row
  const { errorCode, errorDetail, ...state } = rest
  const error = errorCode === null ? null : { code: errorCode, detail: errorDetail }
  const job = { id, organizationId, batchId, deviceId, kind, exclusive, hold, lifetimeS, schedule, delivery }
  return { ...job, state: { ...state, error } }
}
