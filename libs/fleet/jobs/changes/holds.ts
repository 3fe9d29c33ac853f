import { countHeldJobsSql } from '#fleet/jobs/changes/batch-counters'
import type { LockedJob } from '#fleet/jobs/changes/locking'
import { isFinal } from '#fleet/jobs/model/states'
import type { Connection } from '#postgres/pool'

/**
 * Withdraws queued jobs from the queue. `rollout`: until their batch releases them. `device`: until the exclusive job on
 * their device ends or is recalled.
 */
export async function holdJobs(
  connection: Connection,
  jobs: readonly LockedJob[],
  hold: 'rollout' | 'device',
): Promise<void> {
  if (jobs.length === 0) return
  await connection.query(
    `WITH held AS (
       UPDATE job SET hold = $2, enqueued_at = NULL
       WHERE id = ANY($1::uuid[]) AND status = 'queued' AND hold IS DISTINCT FROM $2
       RETURNING batch_id, coalesce(old.hold = 'rollout', false) AS was_held, coalesce(old.hold = 'fresh', false) AS was_fresh
     ), ${countHeldJobsSql}`,
    [jobs.map(({ id }) => id), hold],
  )
}

/** Lets the jobs go that waited for a device which one of the changed exclusive jobs no longer occupies. */
export async function releaseDeviceHolds(connection: Connection, changed: readonly LockedJob[]): Promise<void> {
  const released = changed.filter(
    ({ exclusive, state }) => exclusive && (isFinal(state.status) || state.status === 'queued'),
  )
  if (released.length === 0) return
  await connection.query(
    `UPDATE job SET hold = NULL, enqueued_at = NULL
     WHERE device_id = ANY($1::uuid[]) AND status = 'queued' AND hold = 'device'`,
    [[...new Set(released.map(({ deviceId }) => deviceId))]],
  )
}
