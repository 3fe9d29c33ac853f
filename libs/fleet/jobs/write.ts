import type { JobKind } from '#fleet/jobs/model/kinds'
import {
  decide,
  isFinal,
  type JobEvent,
  type JobState,
  type JobStatus,
  jobStatuses,
  type Refusal,
} from '#fleet/jobs/model/states'
import { tenantTransaction } from '#fleet/tenant'
import { type Connection, type Pool, startingOver, type TransactionOptions, transaction } from '#postgres/pool'

/**
 * Why a queued job is not offered to the queue by itself: its batch offers it, in its turn, as nothing has happened to it
 * yet; its batch's schedule or rollout holds it back; or another exclusive job has its device.
 */
export type JobHold = 'fresh' | 'rollout' | 'device'

/** A locked job with what surrounds it. */
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
 * Locks the jobs whose ids the sub-select yields, in order of id, which is the order everybody takes these locks in.
 * `selectIds` may use `values` as $1, $2, ….
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
  return rows.map(lockedJob)
}

const lockedJob = (row: JobRow): LockedJob => ({
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

/** When, and whom history names: `key:…`, `user:…`, `device:…` or `system`. */
export type ChangeBy = { by: string | ((job: LockedJob) => string); nowMs: number }

export type Outcome = 'changed' | 'same' | Refusal

/**
 * Asks the state machine about each locked job and writes what it decided, in one statement for all. Returns the outcome
 * for each job id; the jobs given are brought up to date.
 */
export async function changeJobs(
  connection: Connection,
  jobs: readonly LockedJob[],
  eventOf: (job: LockedJob) => JobEvent,
  { by, nowMs }: ChangeBy,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const changes: { job: LockedJob; from: JobState }[] = []
  for (const job of jobs) {
    const decision = decide(job.state, eventOf(job), nowMs)
    outcomes.set(job.id, decision.outcome)
    if (decision.outcome !== 'changed') continue
    changes.push({ job, from: job.state })
    job.state = decision.job
  }
  if (changes.length > 0) await writeChanges(connection, changes, by, nowMs)
  return outcomes
}

async function writeChanges(
  connection: Connection,
  changes: readonly { job: LockedJob; from: JobState }[],
  by: ChangeBy['by'],
  nowMs: number,
): Promise<void> {
  const column = <Value>(pick: (job: LockedJob, from: JobState) => Value) =>
    changes.map(({ job, from }) => pick(job, from))
  const moment = (ms: number | null) => (ms === null ? null : new Date(ms))
  const { rows } = await connection.query<{ written: number }>(writeText, [
    new Date(nowMs),
    column((job) => (typeof by === 'string' ? by : by(job))),
    column((job) => job.id),
    column((_, from) => from.status),
    column((_, from) => from.attempt),
    column(({ state }) => state.status),
    column(({ state }) => state.attempt),
    column(({ state }) => state.maxAttempts),
    column(({ state }) => moment(state.notBeforeMs)),
    column(({ state }) => moment(state.deadlineAtMs)),
    column(({ state }) => moment(state.expiresAtMs)),
    column(({ state }) => state.cancelRequested),
    column(({ state }) => state.acknowledged),
    column(({ state }) => state.progress),
    column(({ state }) => (state.result === null ? null : JSON.stringify(state.result))),
    column(({ state }) => state.error?.code ?? null),
    column(({ state }) => state.error?.detail ?? null),
    column(({ state }) => isFinal(state.status)),
  ])
  if (rows[0]?.written !== changes.length) throw new Error('A locked job changed under its lock.')
  await freeDevices(connection, changes)
}

/** By how many the jobs of a status became more. */
const changeOfCount = (status: JobStatus) =>
  `count(*) FILTER (WHERE status = '${status}') - count(*) FILTER (WHERE from_status = '${status}') AS "${status}"`

/**
 * History, batch counters and events change with the job, in the same statement. The counters of a batch add up to its
 * total at all times (a CHECK holds that), and the one change that leaves no job open publishes the batch's end.
 */
const writeText = `
WITH change AS (
  SELECT * FROM unnest($2::text[], $3::uuid[], $4::text[], $5::int[], $6::text[], $7::int[], $8::int[], $9::timestamptz[],
    $10::timestamptz[], $11::timestamptz[], $12::boolean[], $13::boolean[], $14::smallint[], $15::jsonb[], $16::text[],
    $17::text[], $18::boolean[])
    AS t (by, id, from_status, from_attempt, status, attempt, max_attempts, not_before, deadline_at, expires_at,
      cancel_requested, acknowledged, progress, result, error_code, error_detail, final)
), changed AS (
  UPDATE job SET status = c.status, attempt = c.attempt, max_attempts = c.max_attempts, not_before = c.not_before,
    deadline_at = c.deadline_at, expires_at = c.expires_at, cancel_requested = c.cancel_requested,
    acknowledged = c.acknowledged, progress = c.progress, result = c.result, error_code = c.error_code,
    error_detail = c.error_detail, hold = NULL, updated_at = $1::timestamptz,
    finished_at = CASE WHEN c.final THEN $1::timestamptz END,
    enqueued_at = CASE WHEN c.status = c.from_status AND c.attempt = c.from_attempt THEN job.enqueued_at END
  FROM change c
  WHERE job.id = c.id AND job.status = c.from_status AND job.attempt = c.from_attempt
  RETURNING c.by, job.id, job.organization_id, job.batch_id, job.device_id, job.kind, job.attempt, job.status, c.from_status,
    c.final, coalesce(old.hold = 'rollout', false) AS was_held, coalesce(old.hold = 'fresh', false) AS was_fresh
), history AS (
  INSERT INTO job_event (job_id, at, attempt, status, by)
  SELECT id, $1::timestamptz, attempt, status, by FROM changed WHERE status <> from_status
), counted AS (
  SELECT batch_id, organization_id, count(*) FILTER (WHERE was_held) AS held,
    count(*) FILTER (WHERE was_fresh) AS fresh, ${jobStatuses.map(changeOfCount).join(', ')}
  FROM changed WHERE batch_id IS NOT NULL GROUP BY batch_id, organization_id
), batch AS (
  UPDATE job_batch b SET held = b.held - c.held, fresh = b.fresh - c.fresh, queued = b.queued + c.queued,
    dispatched = b.dispatched + c.dispatched, in_progress = b.in_progress + c."inProgress",
    succeeded = b.succeeded + c.succeeded, failed = b.failed + c.failed,
    timed_out = b.timed_out + c."timedOut", cancelled = b.cancelled + c.cancelled, expired = b.expired + c.expired,
    rejected = b.rejected + c.rejected,
    finished_at = CASE WHEN b.queued + b.dispatched + b.in_progress + c.queued + c.dispatched + c."inProgress" = 0 THEN $1::timestamptz END,
    status = CASE
      WHEN b.status = 'cancelled' AND c.queued + c.dispatched + c."inProgress" <= 0 THEN b.status
      WHEN b.queued + b.dispatched + b.in_progress + c.queued + c.dispatched + c."inProgress" = 0 THEN 'finished'
      WHEN b.status IN ('finished', 'cancelled') THEN 'running'
      ELSE b.status END
  FROM counted c WHERE b.id = c.batch_id
  RETURNING b.id, b.organization_id, b.kind, b.status, b.total, b.queued, b.dispatched, b.in_progress, b.succeeded,
    b.failed, b.timed_out, b.cancelled, b.expired, b.rejected, old.finished_at AS was_finished_at, b.finished_at
), event AS (
  INSERT INTO outbox_event (id, organization_id, type, payload)
  SELECT uuidv7(), organization_id, 'job.finished', jsonb_build_object('jobId', id, 'batchId', batch_id,
    'deviceId', device_id, 'kind', kind, 'status', status, 'attempt', attempt)
  FROM changed WHERE final AND status <> from_status
  UNION ALL
  SELECT uuidv7(), organization_id, 'job_batch.finished', jsonb_build_object('batchId', id, 'kind', kind,
    'status', status, 'total', total, 'counts', jsonb_build_object('queued', queued, 'dispatched', dispatched,
    'inProgress', in_progress, 'succeeded', succeeded, 'failed', failed, 'timedOut', timed_out, 'cancelled', cancelled,
    'expired', expired, 'rejected', rejected))
  FROM batch WHERE finished_at IS NOT NULL AND was_finished_at IS NULL
)
SELECT count(*)::int AS written FROM changed`

/** A device whose exclusive job left it is free for the next one that waits; and the worker hears that there is work. */
async function freeDevices(
  connection: Connection,
  changes: readonly { job: LockedJob; from: JobState }[],
): Promise<void> {
  const freed = changes.filter(
    ({ job }) => job.exclusive && (isFinal(job.state.status) || job.state.status === 'queued'),
  )
  if (freed.length > 0) {
    await connection.query(
      `UPDATE job SET hold = NULL, enqueued_at = NULL
       WHERE device_id = ANY($1::uuid[]) AND status = 'queued' AND hold = 'device'`,
      [[...new Set(freed.map(({ job }) => job.deviceId))]],
    )
  }
  if (changes.some(({ job }) => job.state.status !== 'dispatched')) await wakeWorker(connection)
}

/** Channel on which the worker hears that jobs wait to be offered, released or timed. */
export const workChannel = 'job_work'

/** Wakes the worker once the transaction has committed; equal notices of one transaction become one. */
export const wakeWorker = (connection: Pick<Connection, 'query'>) =>
  connection.query(`SELECT pg_notify('${workChannel}', '')`)

/**
 * A transaction that starts over when it was the victim of a deadlock: locks are taken in order, but batch counters of
 * several batches, and devices freed by different jobs, can still meet crosswise. With an organization it runs under the
 * tenant's role; the worker and the device edge, which serve all organizations, pass null.
 */
export const jobTransaction = <Result>(
  pool: Pool,
  organizationId: string | null,
  work: (connection: Connection) => Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> =>
  organizationId === null
    ? startingOver(() => transaction(pool, work, options))
    : tenantTransaction({ pool }, [organizationId], work)

/**
 * Takes queued jobs back from the queue: 'rollout' until their batch lets them go, 'device' until the exclusive job that
 * runs on their device has left it.
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
     ), counted AS (
       SELECT batch_id, count(*) FILTER (WHERE $2 = 'rollout') - count(*) FILTER (WHERE was_held) AS more,
         count(*) FILTER (WHERE was_fresh) AS fresh
       FROM held WHERE batch_id IS NOT NULL GROUP BY batch_id
     )
     UPDATE job_batch b SET held = b.held + c.more, fresh = b.fresh - c.fresh
     FROM counted c WHERE b.id = c.batch_id AND (c.more <> 0 OR c.fresh <> 0)`,
    [jobs.map(({ id }) => id), hold],
  )
}
