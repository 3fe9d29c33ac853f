import type { JobReference } from '#fleet/job-dispatch'
import { type Connection, type Pool, type Queryable, transaction } from '#postgres/pool'

/** What the queue is to be told: a job to dispatch, or a taken job's deadline to watch. The lowest `priority` goes first. */
export type QueuedReference = JobReference & { delayMs: number; priority: number }

export type OfferJobs = (kind: 'dispatch' | 'deadline', references: readonly QueuedReference[]) => Promise<void>

type Row = { id: string; attempt: number; due: Date | null }

const turnSize = 500

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
  SELECT organization_id FROM waiting WHERE organization_id IS NOT NULL`

/** Of a large backlog so many turns go side by side, because a turn mostly waits: for Postgres, for the queue. */
const turnsTogether = 4

// What a crash of Postgres takes back is offered again, so nobody has to wait for the disk.
const offering = { prelude: 'SET LOCAL synchronous_commit = off' }

type Offering = { cap: number; nowMs: number; offer: OfferJobs }

/**
 * One round of the relay: every organization in turn offers its oldest queued jobs, 500 at a time, and never has more than
 * `cap` waiting in the queue. The more it has waiting there, the further back its next ones stand: somebody's one job
 * goes before all but 500 of everybody else's hundred thousand. A crash between offering and noting it offers the same
 * ids again, which the queue ignores. Returns how many were offered.
 */
export async function offerQueuedJobs(pool: Pool, round: Offering): Promise<number> {
  const { rows } = await pool.query<{ organization_id: string }>(waitingOrganizations)
  let offered = 0
  for (const { organization_id: organizationId } of rows) {
    const inQueue = await countInQueue(pool, organizationId, round.cap)
    const turn = (number: number) => offerTurn(pool, organizationId, inQueue + number * turnSize, round)
    const first = await turn(0)
    const others = first === turnSize ? Array.from({ length: turnsTogether - 1 }, (_, index) => turn(index + 1)) : []
    offered += (await Promise.all(others)).reduce((sum, count) => sum + count, first)
  }
  return offered
}

/** Offers up to 500 jobs of an organization that has `inQueue` in the queue before them. */
async function offerTurn(
  pool: Pool,
  organizationId: string,
  inQueue: number,
  { cap, nowMs, offer }: Offering,
): Promise<number> {
  const limit = Math.min(cap - inQueue, turnSize)
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
      const priority = 1 + Math.floor(inQueue / turnSize)
      return offerAndNote(connection, 'dispatch', rows, priority, { nowMs, offer })
    },
    offering,
  )
}

/** Offers the deadlines of taken jobs. Returns how many. */
export async function offerDeadlines(pool: Pool, round: Omit<Offering, 'cap'>): Promise<number> {
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

async function countInQueue(db: Queryable, organizationId: string, cap: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       SELECT FROM job WHERE organization_id = $1 AND status = 'queued' AND enqueued_at IS NOT NULL LIMIT $2
     ) waiting`,
    [organizationId, cap],
  )
  return rows[0]?.count ?? 0
}

async function offerAndNote(
  connection: Connection,
  kind: 'dispatch' | 'deadline',
  jobs: readonly Row[],
  priority: number,
  { nowMs, offer }: Omit<Offering, 'cap'>,
): Promise<number> {
  if (jobs.length === 0) return 0
  const delayOf = (due: Date | null) => (due === null ? 0 : Math.max(0, due.getTime() - nowMs))
  await offer(
    kind,
    jobs.map(({ id, attempt, due }) => ({ jobId: id, attempt, delayMs: delayOf(due), priority })),
  )
  await connection.query('UPDATE job SET enqueued_at = $2 WHERE id = ANY($1::uuid[])', [
    jobs.map(({ id }) => id),
    new Date(nowMs),
  ])
  return jobs.length
}

/** Forgets what the queue was told, because the queue has lost it. The relay tells it all again. */
export async function forgetOffers(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE job SET enqueued_at = NULL
     WHERE enqueued_at IS NOT NULL AND (status = 'queued' OR status = 'inProgress')`,
  )
  return rowCount ?? 0
}

const lostAfterMs = 60_000

/**
 * Heals what a crash can leave behind: jobs the queue should long have worked on are offered again (it ignores those it
 * still has), and jobs held for a device that is free by now are let go. Returns how many jobs that concerned.
 */
export async function reconcileOffers(pool: Pool, nowMs: number): Promise<number> {
  const lost = await pool.query(
    `UPDATE job SET enqueued_at = NULL
     WHERE status = 'queued' AND enqueued_at < $1 AND (not_before IS NULL OR not_before < $1)`,
    [new Date(nowMs - lostAfterMs)],
  )
  const held = await pool.query(
    `UPDATE job SET hold = NULL, enqueued_at = NULL
     WHERE status = 'queued' AND hold = 'device' AND NOT EXISTS (
       SELECT FROM job rival WHERE rival.device_id = job.device_id AND rival.exclusive
         AND rival.status IN ('dispatched', 'inProgress'))`,
  )
  return (lost.rowCount ?? 0) + (held.rowCount ?? 0)
}
