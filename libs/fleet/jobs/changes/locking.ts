import type { JobKind } from '#fleet/jobs/model/kinds'
import type { JobState, JobStatus } from '#fleet/jobs/model/states'
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
  state: JobState
}

type JobRow = {
  id: string
  organization_id: string
  batch_id: string | null
  device_id: string
  kind: JobKind
  exclusive: boolean
  hold: JobHold | null
  lifetime_s: number
  status: JobStatus
  attempt: number
  max_attempts: number
  not_before: Date | null
  deadline_at: Date | null
  expires_at: Date
  cancel_requested: boolean
  acknowledged: boolean
  progress: number | null
  result: unknown
  error_code: string | null
  error_detail: string | null
}

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
    `SELECT id, organization_id, batch_id, device_id, kind, exclusive, hold, lifetime_s, status, attempt, max_attempts,
            not_before, deadline_at, expires_at, cancel_requested, acknowledged, progress, result, error_code, error_detail
     FROM job WHERE id IN (${selectIds}) ORDER BY id FOR UPDATE`,
    [...values],
  )
  return rows.map(toLockedJob)
}

const toLockedJob = (row: JobRow): LockedJob => ({
  id: row.id,
  organizationId: row.organization_id,
  batchId: row.batch_id,
  deviceId: row.device_id,
  kind: row.kind,
  exclusive: row.exclusive,
  hold: row.hold,
  lifetimeS: row.lifetime_s,
  state: {
    status: row.status,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    notBeforeMs: row.not_before?.getTime() ?? null,
    deadlineAtMs: row.deadline_at?.getTime() ?? null,
    expiresAtMs: row.expires_at.getTime(),
    cancelRequested: row.cancel_requested,
    acknowledged: row.acknowledged,
    progress: row.progress,
    result: row.result,
    error: row.error_code === null ? null : { code: row.error_code, detail: row.error_detail },
  },
})
