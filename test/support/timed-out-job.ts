import type { Pool } from '#postgres/pool'
import { until } from './until.ts'

/** A job whose time is changed in the database is offered at the next comparison of database and queue, every 30 s. */
export const nextAttemptWithinMs = 40_000

/** Lets the attempt of a job that a router has taken time out now, and the next one begin within `nextAttemptWithinMs`. */
export async function timeOutAttempt(pool: Pool, jobId: string): Promise<void> {
  await pool.query('UPDATE job SET deadline_at = now() WHERE id = $1', [jobId])
  await until('the next attempt', async () => {
    const { rows } = await pool.query<{ attempt: number }>(
      `UPDATE job SET not_before = now() WHERE id = $1 AND status = 'queued' AND attempt = 2 RETURNING attempt`,
      [jobId],
    )
    return rows.length > 0
  })
}
