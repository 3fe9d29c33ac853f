import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import type { Span, Traceparent, Tracing } from '#core/tracing'
import type { SystemContext } from '#fleet/context'
import type { BatchSlice, JobReference } from '#fleet/jobs/dispatch'
import { isFreeSql } from '#fleet/jobs/exclusivity'
import { sumOfEach } from '#postgres/bisect'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** An entry for a queue, due after `delayMs`. The lowest `priority` comes first. */
export type QueuedEntry = { reference: JobReference | BatchSlice; delayMs: number; priority: number }

/** Adds entries to a queue: jobs to dispatch, slices of a batch to dispatch, or deadlines of taken jobs. */
type OfferJobs = (kind: 'dispatch' | 'batch' | 'deadline', entries: readonly QueuedEntry[]) => Promise<void>

type Row = { id: string; attempt: number; due: Date | null; traceparent?: Traceparent | null }

const turnSize = 500

/** SQL condition: a batch that runs has fresh jobs which it has not offered yet. */
const offersItsJobs = `finished_at IS NULL AND status = 'running' AND fresh > 0 AND offered < total`

/** The organizations that have jobs to offer. Skips from one to the next in the index instead of reading all jobs. */
const waitingOrganizations = `
  WITH RECURSIVE waiting AS (
    (SELECT organization_id FROM job WHERE status = 'queued' AND enqueued_at IS NULL AND hold IS NULL
     ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.organization_id FROM job j
            WHERE j.status = 'queued' AND j.enqueued_at IS NULL AND j.hold IS NULL
              AND j.organization_id > waiting.organization_id
            ORDER BY j.organization_id LIMIT 1)
    FROM waiting WHERE waiting.organization_id IS NOT NULL
  )
  SELECT organization_id FROM waiting WHERE organization_id IS NOT NULL
  UNION
  SELECT organization_id FROM job_batch WHERE ${offersItsJobs}`

// The queue ignores an entry that a crash of Postgres makes us offer again, so no commit needs to wait for the disk.
const asynchronousCommit = { prelude: 'SET LOCAL synchronous_commit = off' }

type OfferRound = {
  /** How many jobs of one organization may be in the queue. */
  cap: number
  offer: OfferJobs
  /** Called with the error of an organization whose turn failed. The round continues with the next one. */
  onError: (error: unknown, organizationId: string) => void
}

/**
 * Gives every organization a turn to offer its oldest queued jobs: first a batch, then individual jobs, up to `cap` jobs
 * in the queue. The more jobs an organization has in the queue, the lower the priority of its next ones, so that a single
 * job of one organization overtakes all but 1,000 of the 100,000 jobs of another. Returns how many jobs were offered.
 *
 * Jobs are marked as offered before the queue is called, in a transaction of their own, so that a slow queue holds no locks
 * and no connection. If the call fails, the mark is removed. After a crash before or during the call, `reconcileOffers`
 * removes it, and the same ids are offered again, which the queue ignores.
 */
export async function offerQueuedJobs(system: SystemContext, round: OfferRound): Promise<number> {
  const { rows } = await system.pool.query<{ organization_id: string }>(waitingOrganizations)
  const takeTurn = async ({ organization_id: organizationId }: { organization_id: string }) => {
    const inQueue = await countInQueue(system.pool, organizationId, round.cap)
    const ofBatch = await offerBatchSlices(system, organizationId, inQueue, round)
    return ofBatch + (await offerIndividualJobs(system, organizationId, inQueue + ofBatch, round))
  }
  return sumOfEach(rows, takeTurn, (error, { organization_id }) => round.onError(error, organization_id))
}

// One transaction dispatches a slice, and queries of others wait for a core meanwhile. A smaller one has more round trips for each
// job. One turn is one call to the queue.
const sliceSize = 500
const slicesPerTurn = 10

/** The jobs `first` up to `end`, exclusive, of a batch, which this worker offers. */
type ClaimedSlices = { id: string; first: number; end: number; traceparent: Traceparent | null }

/** Begins the span of an offer to the queue, for jobs that belong to a trace. */
const beginOffer = (tracing: Tracing | undefined, parent: Traceparent | null | undefined): Span | undefined =>
  parent ? tracing?.begin('jobs offer', { kind: 'producer', parent }) : undefined

/** Offers the next slices of the organization's oldest batch that has not offered all of its jobs. */
async function offerBatchSlices(
  { pool, clock, tracing }: SystemContext,
  organizationId: string,
  inQueue: number,
  round: OfferRound,
): Promise<number> {
  const limit = Math.min(round.cap - inQueue, slicesPerTurn * sliceSize)
  if (limit <= 0) return 0
  const batch = await claimSlices(pool, organizationId, limit, clock())
  if (!batch) return 0
  const span = beginOffer(tracing, batch.traceparent)
  const entries: QueuedEntry[] = []
  for (let after = batch.first; after < batch.end; after += sliceSize) {
    entries.push({
      reference: {
        batchId: batch.id,
        after,
        upTo: Math.min(after + sliceSize, batch.end),
        ...(span && { traceparent: span.traceparent }),
      },
      delayMs: 0,
      priority: priorityBehind(inQueue + after - batch.first),
    })
  }
  await orUndo(round.offer('batch', entries), () =>
    pool.query('UPDATE job_batch SET offered = least(offered, $3) WHERE organization_id = $1 AND id = $2', [
      organizationId,
      batch.id,
      batch.first,
    ]),
  ).finally(() => span?.end())
  return batch.end - batch.first
}

/** Marks the next jobs of the oldest batch as offered. Another worker that chose the same jobs finds them offered. */
async function claimSlices(
  pool: Pool,
  organizationId: string,
  limit: number,
  nowMs: number,
): Promise<ClaimedSlices | undefined> {
  const claim = `
    UPDATE job_batch b SET offered = least(b.offered + $2, b.total), offered_at = $3
    FROM (SELECT id, offered FROM job_batch WHERE organization_id = $1 AND ${offersItsJobs} ORDER BY id LIMIT 1) oldest
    WHERE b.organization_id = $1 AND b.id = oldest.id AND b.offered = oldest.offered
    RETURNING b.id, old.offered AS first, new.offered AS "end", b.traceparent`
  const values = [organizationId, limit, new Date(nowMs)]
  const { rows } = await transaction(
    pool,
    (connection) => connection.query<ClaimedSlices>(claim, values),
    asynchronousCommit,
  )
  return rows[0]
}

/** Offers queued jobs that are not part of a slice: single ones, retries, and those whose hold has ended. */
async function offerIndividualJobs(
  { pool, clock, tracing }: SystemContext,
  organizationId: string,
  inQueue: number,
  round: OfferRound,
): Promise<number> {
  const limit = Math.min(round.cap - inQueue, turnSize)
  if (limit <= 0) return 0
  const nowMs = clock()
  const jobs = await claimJobs(
    pool,
    `SELECT id, not_before AS due ${tracing ? traceOfJob : ''} FROM job
     WHERE organization_id = $2 AND status = 'queued' AND enqueued_at IS NULL AND hold IS NULL
     ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED`,
    [new Date(nowMs), organizationId, limit],
  )
  return offerClaimed(pool, jobs, { kind: 'dispatch', priority: priorityBehind(inQueue), nowMs, tracing }, round)
}

/** SQL column: the trace of a job, which is that of its batch until the job has one of its own. */
const traceOfJob =
  ', coalesce(traceparent, (SELECT b.traceparent FROM job_batch b WHERE b.id = batch_id)) AS traceparent'

const priorityBehind = (inQueue: number) => 1 + Math.floor(inQueue / turnSize)

/** Offers the deadlines of taken jobs. Returns how many. After a crash, `endMissedDeadlines` ends the jobs. */
export async function offerDeadlines(
  { pool, clock }: SystemContext,
  round: Pick<OfferRound, 'offer'>,
): Promise<number> {
  const nowMs = clock()
  const jobs = await claimJobs(
    pool,
    `SELECT id, deadline_at AS due FROM job WHERE status = 'inProgress' AND enqueued_at IS NULL
     ORDER BY id LIMIT ${turnSize} FOR UPDATE SKIP LOCKED`,
    [new Date(nowMs)],
  )
  return offerClaimed(pool, jobs, { kind: 'deadline', priority: 1, nowMs }, round)
}

/** Marks the chosen jobs as offered at $1. Returns them in the order of their creation. */
async function claimJobs(pool: Pool, chosen: string, values: [Date, ...unknown[]]): Promise<Row[]> {
  const claim = `
    WITH chosen AS MATERIALIZED (${chosen}),
      claimed AS (UPDATE job SET enqueued_at = $1 FROM chosen WHERE job.id = chosen.id RETURNING job.id, job.attempt)
    SELECT attempt, chosen.* FROM claimed JOIN chosen USING (id) ORDER BY id`
  const { rows } = await transaction(pool, (connection) => connection.query<Row>(claim, values), asynchronousCommit)
  return rows
}

/** How many of the organization's jobs are in the queue: individual ones, and fresh ones in slices that were offered. */
async function countInQueue(db: Queryable, organizationId: string, cap: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT (count(*) + (SELECT coalesce(sum(greatest(0, fresh - (total - offered))), 0) FROM job_batch
                         WHERE organization_id = $1 AND finished_at IS NULL AND fresh > 0))::int AS count
     FROM (SELECT FROM job WHERE organization_id = $1 AND status = 'queued' AND enqueued_at IS NOT NULL LIMIT $2) waiting`,
    [organizationId, cap],
  )
  return rows[0]?.count ?? 0
}

type OfferTerms = { kind: 'dispatch' | 'deadline'; priority: number; nowMs: number; tracing?: Tracing | undefined }

const statusOffered = { dispatch: 'queued', deadline: 'inProgress' } as const

async function offerClaimed(
  pool: Pool,
  jobs: readonly Row[],
  { kind, priority, nowMs, tracing }: OfferTerms,
  { offer }: Pick<OfferRound, 'offer'>,
): Promise<number> {
  if (jobs.length === 0) return 0
  const delayOf = (due: Date | null) => (due === null ? 0 : Math.max(0, due.getTime() - nowMs))
  const entries = jobs.map(({ id, attempt, due, traceparent }) => {
    const span = beginOffer(tracing, traceparent)
    span?.end()
    const reference = { jobId: id, attempt, ...(span && { traceparent: span.traceparent }) }
    return { reference, delayMs: delayOf(due), priority }
  })
  await orUndo(offer(kind, entries), () =>
    pool.query('UPDATE job SET enqueued_at = NULL WHERE id = ANY($1::uuid[]) AND enqueued_at = $2 AND status = $3', [
      jobs.map(({ id }) => id),
      new Date(nowMs),
      statusOffered[kind],
    ]),
  )
  return jobs.length
}

/** Runs `undo` and rejects if the offer fails. If `undo` fails as well, `reconcileOffers` repairs what it should have undone. */
async function orUndo(offer: Promise<void>, undo: () => Promise<unknown>): Promise<void> {
  try {
    await offer
  } catch (error) {
    await undo().catch(() => {})
    throw error
  }
}

/** Marks all jobs as not offered, because the queue has lost its entries. The relay offers them again. Returns how many. */
export async function resetOffers({ pool }: SystemContext, rounds: FairRounds = createFairRounds()): Promise<number> {
  const offered = "enqueued_at IS NOT NULL AND (status = 'queued' OR status = 'inProgress')"
  const { rows } = await pool.query<{ id: string }>(
    `SELECT DISTINCT organization_id AS id FROM job WHERE ${offered}
     UNION SELECT organization_id FROM job_batch WHERE ${hasOffered}`,
  )
  return rounds.run({
    owners: rows.map(({ id }) => id),
    workOf: (organizationId) => [
      () => resetBatchOffers(pool, organizationId, null),
      () => repairSome(pool, offered, 'enqueued_at = NULL', [organizationId]),
    ],
    // Nothing else notices the loss a second time.
    roundMs: Number.POSITIVE_INFINITY,
  })
}

const hasOffered = 'finished_at IS NULL AND fresh > 0 AND offered > 0'

/** Makes batches offer their fresh jobs again: all of them, or those that have offered none since. `changes` counts jobs. */
async function resetBatchOffers(pool: Queryable, organizationId: string, since: Date | null) {
  const { rows } = await pool.query<{ fresh: number }>(
    `UPDATE job_batch SET offered = 0, offered_at = NULL
     WHERE organization_id = $1 AND ${hasOffered} AND ($2::timestamptz IS NULL OR offered_at < $2)
     RETURNING fresh`,
    [organizationId, since],
  )
  return { changes: rows.reduce((sum, { fresh }) => sum + fresh, 0), hasMore: false }
}

const repairedAtOnce = 10_000

/** Changes the jobs of an organization, which is $1, that meet a condition. */
async function repairSome(pool: Queryable, condition: string, change: string, values: readonly unknown[]) {
  const { rowCount } = await pool.query(
    `UPDATE job SET ${change} WHERE id IN (
       SELECT id FROM job WHERE organization_id = $1 AND ${condition} ORDER BY id LIMIT ${repairedAtOnce} FOR UPDATE)`,
    [...values],
  )
  return { changes: rowCount ?? 0, hasMore: rowCount === repairedAtOnce }
}

const lostAfterMs = 60_000

const isLost = (before: string) =>
  `status = 'queued' AND enqueued_at < ${before} AND (not_before IS NULL OR not_before < ${before})`

/**
 * Repairs what a crash can leave behind, organization by organization. Offers jobs again that the queue should have processed by
 * now; the queue ignores those it still has. Ends the hold of jobs whose device is free, or is occupied only by a job that
 * the device may not take now. Returns how many jobs were affected.
 */
export async function reconcileOffers(
  { pool, clock }: SystemContext,
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const lostBefore = new Date(clock() - lostAfterMs)
  const { rows } = await pool.query<{ id: string }>(
    `SELECT DISTINCT organization_id AS id FROM job WHERE ${isLost('$1')}
     UNION SELECT DISTINCT organization_id FROM job WHERE status = 'queued' AND hold = 'device'
     UNION SELECT organization_id FROM job_batch WHERE ${hasOffered} AND offered_at < $1`,
    [lostBefore],
  )
  return rounds.run({
    owners: rows.map(({ id }) => id),
    workOf: (organizationId) => [
      () => resetBatchOffers(pool, organizationId, lostBefore),
      () => repairSome(pool, isLost('$2'), 'enqueued_at = NULL', [organizationId, lostBefore]),
      () => repairSome(pool, isFreeSql, 'hold = NULL, enqueued_at = NULL', [organizationId]),
    ],
  })
}
