import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'
import type { SystemContext } from '#fleet/context'
import { type BatchReference, jobOfBatchSql } from '#fleet/jobs/batches/read'
import { lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import { endOverdueJobs, type JobReference } from '#fleet/jobs/dispatch'
import { expiresAtSql, isHeldBackSql } from '#fleet/jobs/model/lifetime'
import { systemTransaction } from '#fleet/tenant'
import { bisect } from '#postgres/bisect'
import { type Connection, transaction } from '#postgres/pool'

const chunkSize = 1_000

// Jobs that became due meanwhile wait for the end of a round.
const limits = { turnMs: 500, roundMs: 5_000 }

/** Expires jobs that their device did not take in time, organization by organization. Returns how many. */
export async function expireJobs(system: SystemContext, rounds: FairRounds = createFairRounds()): Promise<number> {
  const now = new Date(system.clock())
  const { rows } = await system.pool.query<{ organization_id: string; batch_id: string | null }>(
    `SELECT DISTINCT organization_id, NULL::uuid AS batch_id FROM job
     WHERE status IN ('queued', 'dispatched') AND batch_id IS NULL AND expires_at <= $1
     UNION ALL
     SELECT organization_id, id FROM job_batch
     WHERE finished_at IS NULL AND status <> 'paused' AND (expires_at IS NULL OR expires_at <= $1)`,
    [now],
  )
  const byOrganization = Map.groupBy(rows, (row) => row.organization_id)
  const workOf = (organizationId: string): Piece[] =>
    (byOrganization.get(organizationId) ?? []).map(({ batch_id: batchId }) =>
      batchId === null
        ? () => expireSingleJobs(system, organizationId, now)
        : () => expireBatchJobs(system, { organizationId, batchId }, now),
    )
  return rounds.run({ owners: [...byOrganization.keys()], workOf, ...limits })
}

const expireSingleJobs = (system: SystemContext, organizationId: string, now: Date) =>
  expireChunk(
    system,
    `SELECT id FROM job WHERE status IN ('queued', 'dispatched') AND batch_id IS NULL
       AND organization_id = $2 AND expires_at <= $1 ORDER BY expires_at LIMIT ${chunkSize}`,
    [now, organizationId],
  )

async function expireBatchJobs(system: SystemContext, { organizationId, batchId }: BatchReference, now: Date) {
  const values = [now, organizationId, batchId] as const
  const chunk = await expireChunk(
    system,
    `SELECT j.id ${takeableJobs} AND ${expiresAtSql} <= $1 ORDER BY j.id LIMIT ${chunkSize}`,
    [...values],
  )
  if (!chunk.hasMore) await transaction(system.pool, (connection) => planNextExpiry(connection, values))
  return chunk
}

/** SQL: the jobs `j` of a batch which devices may take, and have not. $2 is the organization, $3 the batch. */
const takeableJobs = `FROM job_batch b JOIN job j ON ${jobOfBatchSql}
  WHERE b.organization_id = $2 AND b.id = $3 AND j.status IN ('queued', 'dispatched') AND NOT ${isHeldBackSql}`

/**
 * Stores when the next job of a batch expires: at most in one hour, because replicas of the previous version do not store
 * the expiry of retries. A look at a large batch takes time, so the next one is some seconds later.
 */
async function planNextExpiry(connection: Connection, values: readonly [Date, ...unknown[]]) {
  // A release that has locked the batch is waited for. One that follows stores its own, earlier expiry.
  await connection.query('SELECT FROM job_batch WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE', [
    ...values.slice(1),
  ])
  await connection.query(
    `UPDATE job_batch SET expires_at = greatest($1::timestamptz + total * interval '100 microseconds',
       least($1::timestamptz + interval '1 hour', (SELECT min(${expiresAtSql}) ${takeableJobs})))
     WHERE organization_id = $2 AND id = $3`,
    [...values],
  )
}

/** `values` starts with the time of the sweep. */
async function expireChunk(system: SystemContext, selectIds: string, values: [Date, ...unknown[]]) {
  const change = { by: 'system', nowMs: values[0].getTime() }
  const changes = await systemTransaction(system, async (connection) => {
    const jobs = await lockJobs(connection, selectIds, values)
    await changeJobs(connection, jobs, () => ({ type: 'expire' }), change)
    return jobs.length
  })
  return { changes, hasMore: changes === chunkSize }
}

const graceMs = 5_000

/**
 * Ends overdue jobs whose deadline the queue did not deliver, for example because it lost its entries, organization by
 * organization. Returns how many.
 */
export async function endMissedDeadlines(
  system: SystemContext,
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const missedBefore = new Date(system.clock() - graceMs)
  const { rows } = await system.pool.query<{ id: string }>(
    `SELECT DISTINCT organization_id AS id FROM job WHERE status = 'inProgress' AND deadline_at < $1`,
    [missedBefore],
  )
  return rounds.run({
    owners: rows.map(({ id }) => id),
    workOf: (organizationId) => [() => endSomeMissed(system, organizationId, missedBefore)],
    ...limits,
  })
}

async function endSomeMissed(system: SystemContext, organizationId: string, missedBefore: Date) {
  const { rows } = await system.pool.query<JobReference>(
    `SELECT id AS "jobId", attempt FROM job WHERE organization_id = $1 AND status = 'inProgress' AND deadline_at < $2
     ORDER BY deadline_at LIMIT ${chunkSize}`,
    [organizationId, missedBefore],
  )
  const failures: unknown[] = []
  await bisect(
    rows,
    (references) => endOverdueJobs(system, references),
    (_, error) => failures.push(error),
  )
  if (failures.length > 0) throw failures[0]
  return { changes: rows.length, hasMore: rows.length === chunkSize }
}
