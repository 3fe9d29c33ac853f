import { jobOfBatchSql } from '#fleet/jobs/batches/read'
import { endOverdueJobs } from '#fleet/jobs/dispatch'
import { changeJobs, jobTransaction, lockJobs } from '#fleet/jobs/write'
import { inHalves } from '#postgres/failing-alone'
import type { Pool } from '#postgres/pool'

const chunkSize = 1_000

/** Ends jobs that were not taken before they expired. Returns how many. */
export async function expireJobs(pool: Pool, nowMs: number): Promise<number> {
  const now = new Date(nowMs)
  const single = await expireChunks(
    pool,
    `SELECT id FROM job WHERE status IN ('queued', 'dispatched') AND (batch_id IS NULL OR attempt > 1)
       AND expires_at <= $1 ORDER BY expires_at LIMIT ${chunkSize}`,
    [now],
    nowMs,
  )
  const { rows: batches } = await pool.query<{ id: string }>('SELECT id FROM job_batch WHERE expires_at <= $1', [now])
  let batched = 0
  for (const { id } of batches) {
    batched += await expireChunks(
      pool,
      `SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
       WHERE b.id = $2 AND j.status IN ('queued', 'dispatched') AND j.expires_at <= $1 ORDER BY j.id LIMIT ${chunkSize}`,
      [now, id],
      nowMs,
    )
    // From here on only retries of this batch can expire, and those have an index of their own.
    await pool.query('UPDATE job_batch SET expires_at = NULL WHERE id = $1', [id])
  }
  return single + batched
}

async function expireChunks(pool: Pool, selectIds: string, values: unknown[], nowMs: number): Promise<number> {
  for (let expired = 0; ; ) {
    const count = await jobTransaction(pool, null, async (connection) => {
      const jobs = await lockJobs(connection, selectIds, values)
      await changeJobs(connection, jobs, () => ({ type: 'expire' }), { by: 'system', nowMs })
      return jobs.length
    })
    expired += count
    if (count < chunkSize) return expired
  }
}

const graceMs = 5_000

/** Ends overdue jobs whose deadline the queue did not bring up, for instance because it was just emptied. */
export async function endForgottenDeadlines(pool: Pool, nowMs: number): Promise<number> {
  const { rows } = await pool.query<{ jobId: string; attempt: number }>(
    `SELECT id AS "jobId", attempt FROM job WHERE status = 'inProgress' AND deadline_at < $1
     ORDER BY deadline_at LIMIT ${chunkSize}`,
    [new Date(nowMs - graceMs)],
  )
  const failures: unknown[] = []
  await inHalves(
    rows,
    (references) => endOverdueJobs(pool, references, nowMs),
    (_, error) => failures.push(error),
  )
  if (failures.length > 0) throw failures[0]
  return rows.length
}
