import { batchCountersCtes } from '#fleet/jobs/changes/batch-counters'
import { finishedEventsCte } from '#fleet/jobs/changes/finished-events'
import { releaseDeviceHolds } from '#fleet/jobs/changes/holds'
import type { LockedJob } from '#fleet/jobs/changes/locking'
import { decide, isFinal, type JobEvent, type JobState, type Refusal } from '#fleet/jobs/model/states'
import { wakeWorker } from '#fleet/jobs/notices'
import type { Connection } from '#postgres/pool'

/** The time of a change, and the actor its history names: `key:…`, `user:…`, `device:…` or `system`. */
export type ChangeBy = { by: string | ((job: LockedJob) => string); nowMs: number }

type Outcome = 'changed' | 'same' | Refusal

/**
 * Applies an event to each locked job as the state machine decides, and writes all changes in one statement. Returns the
 * outcome by job id and updates `state` of the given jobs.
 */
export async function changeJobs(
  connection: Connection,
  jobs: readonly LockedJob[],
  eventOf: (job: LockedJob) => JobEvent,
  { by, nowMs }: ChangeBy,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const changes: StateChange[] = []
  for (const job of jobs) {
    const decision = decide(job.state, eventOf(job), nowMs)
    outcomes.set(job.id, decision.outcome)
    if (decision.outcome !== 'changed') continue
    changes.push({ job, from: job.state, to: decision.job, by: typeof by === 'string' ? by : by(job) })
    job.state = decision.job
  }
  if (changes.length > 0) await writeChanges(connection, changes, nowMs)
  return outcomes
}

type StateChange = { job: LockedJob; from: JobState; to: JobState; by: string }

async function writeChanges(connection: Connection, changes: readonly StateChange[], nowMs: number): Promise<void> {
  const { rows } = await connection.query<{ written: number }>(writeChangesSql, [
    new Date(nowMs),
    ...inputColumns.map(({ value }) => changes.map(value)),
  ])
  if (rows[0]?.written !== changes.length) throw new Error('A locked job changed under its lock.')
  const jobs = changes.map(({ job }) => job)
  await releaseDeviceHolds(connection, jobs)
  if (jobs.some(({ state }) => state.status !== 'dispatched')) await wakeWorker(connection)
}

type InputColumn = { name: string; type: string; value: (change: StateChange) => unknown }

const column = (name: string, type: string, value: InputColumn['value']): InputColumn => ({ name, type, value })
const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms))

/** The columns of `change`, the input of the statement: one array parameter each, from $2 on. */
const inputColumns: readonly InputColumn[] = [
  column('by', 'text', ({ by }) => by),
  column('id', 'uuid', ({ job }) => job.id),
  column('from_status', 'text', ({ from }) => from.status),
  column('from_attempt', 'int', ({ from }) => from.attempt),
  column('status', 'text', ({ to }) => to.status),
  column('attempt', 'int', ({ to }) => to.attempt),
  column('max_attempts', 'int', ({ to }) => to.maxAttempts),
  column('not_before', 'timestamptz', ({ to }) => timeOf(to.notBeforeMs)),
  column('deadline_at', 'timestamptz', ({ to }) => timeOf(to.deadlineAtMs)),
  column('expires_at', 'timestamptz', ({ to }) => timeOf(to.expiresAtMs)),
  column('cancel_requested', 'boolean', ({ to }) => to.cancelRequested),
  column('acknowledged', 'boolean', ({ to }) => to.acknowledged),
  column('progress', 'smallint', ({ to }) => to.progress),
  column('result', 'jsonb', ({ to }) => (to.result === null ? null : JSON.stringify(to.result))),
  column('error_code', 'text', ({ to }) => to.error?.code ?? null),
  column('error_detail', 'text', ({ to }) => to.error?.detail ?? null),
  column('final', 'boolean', ({ to }) => isFinal(to.status)),
]

const inputArrays = inputColumns.map(({ type }, index) => `$${index + 2}::${type}[]`).join(', ')
const inputNames = inputColumns.map(({ name }) => name).join(', ')

/** CTEs `change` (the input) and `changed` (the written jobs, with their status before in `from_status`). $1 is the time. */
const changedJobsCtes = `change AS (
  SELECT * FROM unnest(${inputArrays}) AS t (${inputNames})
), changed AS (
  UPDATE job SET status = c.status, attempt = c.attempt, max_attempts = c.max_attempts, not_before = c.not_before,
    deadline_at = c.deadline_at, expires_at = c.expires_at, cancel_requested = c.cancel_requested,
    acknowledged = c.acknowledged, progress = c.progress, result = c.result, error_code = c.error_code,
    error_detail = c.error_detail, hold = NULL, updated_at = $1::timestamptz,
    finished_at = CASE WHEN c.final THEN $1::timestamptz END,
    enqueued_at = CASE WHEN c.status = c.from_status AND c.attempt = c.from_attempt THEN job.enqueued_at END
  FROM change c
  WHERE job.id = c.id AND job.status = c.from_status AND job.attempt = c.from_attempt
  RETURNING c.by, job.id, job.organization_id, job.batch_id, job.device_id, job.kind, job.attempt, job.status, job.expires_at,
    c.from_status, c.final, coalesce(old.hold = 'rollout', false) AS was_held, coalesce(old.hold = 'fresh', false) AS was_fresh
)`

const historyCte = `history AS (
  INSERT INTO job_event (job_id, at, attempt, status, by)
  SELECT id, $1::timestamptz, attempt, status, by FROM changed WHERE status <> from_status
)`

/** One statement, because jobs, history, counters and events must agree at all times and one round trip is the fastest. */
const writeChangesSql = `
WITH ${changedJobsCtes}, ${historyCte}, ${batchCountersCtes}, ${finishedEventsCte}
SELECT count(*)::int AS written FROM changed`
