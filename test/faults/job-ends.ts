import type { Pool } from '#postgres/pool'

/** Counts the ends of all jobs of the batches, and the jobs that ended exactly once. */
export async function countJobEnds(
  pool: Pool,
  batchIds: readonly string[],
): Promise<{ ended: number; endedOnce: number }> {
  const { rows } = await pool.query<{ ended: number; endedOnce: number }>(
    `SELECT coalesce(sum(ends), 0)::int AS ended, count(*) FILTER (WHERE ends = 1)::int AS "endedOnce" FROM (
       SELECT count(*) AS ends FROM job_event e JOIN job j ON j.id = e.job_id
       WHERE j.batch_id = ANY($1::uuid[]) AND e.status NOT IN ('queued', 'dispatched', 'inProgress')
       GROUP BY job_id
     ) of_job`,
    [batchIds],
  )
  return rows[0] ?? { ended: -1, endedOnce: -1 }
}
