import type { BatchSlice, JobReference } from '#fleet/jobs/dispatch'
import { handsOutSql } from '#fleet/jobs/exclusivity'
import { sumOfEach } from '#postgres/failing-alone'
import { type Connection, type Pool, type Queryable, transaction } from '#postgres/pool'

/** What a queue is to be told, and after which delay it is due. The lowest `priority` goes first. */
export type QueuedEntry = { reference: JobReference | BatchSlice; delayMs: number; priority: number }

/** Tells a queue: of a job to dispatch, of a slice of a batch to dispatch, or of a taken job's deadline to watch. */
export type OfferJobs = (kind: 'dispatch' | 'batch' | 'deadline', entries: readonly QueuedEntry[]) => Promise<void>

type Row = { id: string; attempt: number; due: Date | null }

const turnSize = 500

/** SQL condition: a batch has not come to all of its jobs yet, and to some of them nothing else has happened. */
const offersItsJobs = `finished_at IS NULL AND status = 'running' AND fresh > 0 AND offered < total`

/** The organizations that have jobs to offer, by skipping from one to the next in the index instead of reading all. */
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

// What a crash of Postgres takes back is offered again, so nobody has to wait for the disk.
const offering = { prelude: 'SET LOCAL synchronous_commit = off' }

type Offering = {
  cap: number
  nowMs: number
  offer: OfferJobs
  /** Hears of an organization whose turn failed; the others get theirs. */
  onError: (error: unknown) => void
}

/**
 * One round of the relay: every organization in turn offers its oldest queued jobs, first those that a batch speaks for,
 * then others, and never has more than `cap` waiting in the queue. The more it has waiting there, the further back its
 * next ones stand: somebody's one job goes before all but 500 of everybody else's hundred thousand. A crash between
 * offering and noting it offers the same ids again, which the queue ignores. Returns how many jobs it went through.
 */
export async function offerQueuedJobs(pool: Pool, round: Offering): Promise<number> {
  const { rows } = await pool.query<{ organization_id: string }>(waitingOrganizations)
  const takeTurn = async ({ organization_id: organizationId }: { organization_id: string }) => {
    const inQueue = await countInQueue(pool, organizationId, round.cap)
    const ofBatch = await offerOfBatch(pool, organizationId, inQueue, round)
    return ofBatch + (await offerSingly(pool, organizationId, inQueue + ofBatch, round))
  }
  return sumOfEach(rows, takeTurn, round.onError)
}

// A slice is dispatched in one transaction, in which others' queries wait for a core; a turn is one call to the queue.
const sliceSize = 250
const slicesPerTurn = 20

/** The next slices of the organization's oldest batch that has not offered all of its jobs yet. */
async function offerOfBatch(pool: Pool, organizationId: string, inQueue: number, round: Offering): Promise<number> {
  const limit = Math.min(round.cap - inQueue, slicesPerTurn * sliceSize)
  if (limit <= 0) return 0
  return transaction(
    pool,
    async (connection) => {
      const { rows } = await connection.query<{ id: string; offered: number; total: number }>(
        // One worker at a time: another one would only offer the same.
        `SELECT id, offered, total FROM (
           SELECT id, offered, total FROM job_batch WHERE organization_id = $1 AND ${offersItsJobs} ORDER BY id LIMIT 1
         ) oldest WHERE pg_try_advisory_xact_lock(hashtextextended(id::text, 0))`,
        [organizationId],
      )
      const batch = rows[0]
      if (!batch) return 0
      const end = Math.min(batch.offered + limit, batch.total)
      const entries: QueuedEntry[] = []
      for (let after = batch.offered; after < end; after += sliceSize) {
        entries.push({
          reference: { batchId: batch.id, after, upTo: Math.min(after + sliceSize, end) },
          delayMs: 0,
          priority: priorityBehind(inQueue + after - batch.offered),
        })
      }
      await round.offer('batch', entries)
      await connection.query('UPDATE job_batch SET offered = $3, offered_at = $4 WHERE id = $1 AND offered = $2', [
        batch.id,
        batch.offered,
        end,
        new Date(round.nowMs),
      ])
      return end - batch.offered
    },
    offering,
  )
}

/** Queued jobs that no batch speaks for: single ones, retries, those a rollout or a busy device has let go. */
async function offerSingly(pool: Pool, organizationId: string, inQueue: number, round: Offering): Promise<number> {
  const limit = Math.min(round.cap - inQueue, turnSize)
  if (limit <= 0) return 0
  return transaction(
    pool,
    async (connection) => {
      const { rows } = await connection.query<Row>(
        `SELECT id, attempt, not_before AS due FROM job
         WHERE organization_id = $1 AND status = 'queued' AND enqueued_at IS NULL AND hold IS NULL
         ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [organizationId, limit],
      )
      return offerAndNote(connection, 'dispatch', rows, priorityBehind(inQueue), round)
    },
    offering,
  )
}

const priorityBehind = (inQueue: number) => 1 + Math.floor(inQueue / turnSize)

/** Offers the deadlines of taken jobs. Returns how many. */
export async function offerDeadlines(pool: Pool, round: Pick<Offering, 'nowMs' | 'offer'>): Promise<number> {
  return transaction(
    pool,
    async (connection) => {
      const { rows } = await connection.query<Row>(
        `SELECT id, attempt, deadline_at AS due FROM job WHERE status = 'inProgress' AND enqueued_at IS NULL
         ORDER BY id LIMIT ${turnSize} FOR UPDATE SKIP LOCKED`,
      )
      return offerAndNote(connection, 'deadline', rows, 1, round)
    },
    offering,
  )
}

/** How many of the organization's jobs wait in the queue: those offered singly, and the fresh ones batches have come to. */
async function countInQueue(db: Queryable, organizationId: string, cap: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT (count(*) + (SELECT coalesce(sum(greatest(0, fresh - (total - offered))), 0) FROM job_batch
                         WHERE organization_id = $1 AND finished_at IS NULL AND fresh > 0))::int AS count
     FROM (SELECT FROM job WHERE organization_id = $1 AND status = 'queued' AND enqueued_at IS NOT NULL LIMIT $2) waiting`,
    [organizationId, cap],
  )
  return rows[0]?.count ?? 0
}

async function offerAndNote(
  connection: Connection,
  kind: 'dispatch' | 'deadline',
  jobs: readonly Row[],
  priority: number,
  { nowMs, offer }: Pick<Offering, 'nowMs' | 'offer'>,
): Promise<number> {
  if (jobs.length === 0) return 0
  const delayOf = (due: Date | null) => (due === null ? 0 : Math.max(0, due.getTime() - nowMs))
  await offer(
    kind,
    jobs.map(({ id, attempt, due }) => ({ reference: { jobId: id, attempt }, delayMs: delayOf(due), priority })),
  )
  await connection.query('UPDATE job SET enqueued_at = $2 WHERE id = ANY($1::uuid[])', [
    jobs.map(({ id }) => id),
    new Date(nowMs),
  ])
  return jobs.length
}

/** Forgets what the queue was told, because the queue has lost it. The relay tells it all again. */
export async function forgetOffers(pool: Pool): Promise<number> {
  const ofBatches = await forgetBatchOffers(pool, null)
  const { rowCount } = await pool.query(
    `UPDATE job SET enqueued_at = NULL
     WHERE enqueued_at IS NOT NULL AND (status = 'queued' OR status = 'inProgress')`,
  )
  return ofBatches + (rowCount ?? 0)
}

/** Has batches begin again with their fresh jobs: all, or those that offered none since. Returns how many jobs that are. */
async function forgetBatchOffers(pool: Pool, since: Date | null): Promise<number> {
  const { rows } = await pool.query<{ fresh: number }>(
    `UPDATE job_batch SET offered = 0, offered_at = NULL
     WHERE finished_at IS NULL AND fresh > 0 AND offered > 0 AND ($1::timestamptz IS NULL OR offered_at < $1)
     RETURNING fresh`,
    [since],
  )
  return rows.reduce((sum, { fresh }) => sum + fresh, 0)
}

const lostAfterMs = 60_000

/**
 * Heals what a crash can leave behind: jobs the queue should long have worked on are offered again (it ignores those it
 * still has), and jobs held for a device that is free by now, or that only a batch which hands nothing out keeps, are let
 * go. Returns how many jobs that concerned.
 */
export async function reconcileOffers(pool: Pool, nowMs: number): Promise<number> {
  const lostBefore = new Date(nowMs - lostAfterMs)
  const lostOfBatches = await forgetBatchOffers(pool, lostBefore)
  const lost = await pool.query(
    `UPDATE job SET enqueued_at = NULL
     WHERE status = 'queued' AND enqueued_at < $1 AND (not_before IS NULL OR not_before < $1)`,
    [lostBefore],
  )
  const held = await pool.query(
    `UPDATE job SET hold = NULL, enqueued_at = NULL
     WHERE status = 'queued' AND hold = 'device' AND NOT EXISTS (
       SELECT FROM job rival LEFT JOIN job_batch theirs ON theirs.id = rival.batch_id
         LEFT JOIN job_batch own ON own.id = job.batch_id
       WHERE rival.device_id = job.device_id AND rival.exclusive AND (rival.status = 'inProgress'
         OR rival.status = 'dispatched' AND (${handsOutSql('theirs')} OR NOT ${handsOutSql('own')})))`,
  )
  return lostOfBatches + (lost.rowCount ?? 0) + (held.rowCount ?? 0)
}
