import type { SystemContext } from '#fleet/context'
import { jobOfBatchSql } from '#fleet/jobs/batches/read'
import { lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import { endOverdueJobs, type JobReference } from '#fleet/jobs/dispatch'
import { systemTransaction } from '#fleet/tenant'
import { bisect } from '#postgres/bisect'

const chunkSize = 1_000

/** Expires jobs that their device did not take in time. Returns how many. */
export async function expireJobs(system: SystemContext): Promise<number> {
  const now = new Date(system.clock())
  const single = await expireChunks(
    system,
    `SELECT id FROM job WHERE status IN ('queued', 'dispatched') AND (batch_id IS NULL OR attempt > 1)
       AND expires_at <= $1 ORDER BY expires_at LIMIT ${chunkSize}`,
    [now],
  )
  const { rows: batches } = await system.pool.query<{ id: string }>('SELECT id FROM job_batch WHERE expires_at <= $1', [
    now,
  ])
  let batched = 0
  for (const { id } of batches) {
    batched += await expireChunks(
      system,
      `SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
       WHERE b.id = $2 AND j.status IN ('queued', 'dispatched') AND j.expires_at <= $1 ORDER BY j.id LIMIT ${chunkSize}`,
      [now, id],
    )
    // From now on only retries of this batch can expire. The first query finds those by their own index.
    await system.pool.query('UPDATE job_batch SET expires_at = NULL WHERE id = $1', [id])
  }
  return single + batched
}

/** `values` starts with the time of the sweep. */
async function expireChunks(system: SystemContext, selectIds: string, values: [Date, ...unknown[]]): Promise<number> {
  const change = { by: 'system', nowMs: values[0].getTime() }
  for (let expired = 0; ; ) {
    const count = await systemTransaction(system, async (connection) => {
      const jobs = await lockJobs(connection, selectIds, values)
      await changeJobs(connection, jobs, () => ({ type: 'expire' }), change)
      return jobs.length
    })
    expired += count
    if (count < chunkSize) return expired
  }
}

const graceMs = 5_000

/** Ends overdue jobs whose deadline the queue did not deliver, for example because it lost its entries. Returns how many. */
export async function endMissedDeadlines(system: SystemContext): Promise<number> {
  const { rows } = await system.pool.query<JobReference>(
    `SELECT id AS "jobId", attempt FROM job WHERE status = 'inProgress' AND deadline_at < $1
     ORDER BY deadline_at LIMIT ${chunkSize}`,
    [new Date(system.clock() - graceMs)],
  )
  const failures: unknown[] = []
  await bisect(
    rows,
    (references) => endOverdueJobs(system, references),
    (_, error) => failures.push(error),
  )
  if (failures.length > 0) throw failures[0]
  return rows.length
}
