import type { Traceparent } from '#core/tracing'
import type { SystemContext } from '#fleet/context'
import { holdJobs } from '#fleet/jobs/changes/holds'
import { type LockedJob, lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import { handsOutSql, planExclusiveJobs } from '#fleet/jobs/exclusivity'
import { batchJobId } from '#fleet/jobs/model/batch-ids'
import { expiryMs } from '#fleet/jobs/model/lifetime'
import { deliverableFrom } from '#fleet/jobs/model/schedule'
import { backOffMs, type JobEvent } from '#fleet/jobs/model/states'
import { wakeDevices } from '#fleet/jobs/notices'
import { isProfileGoneSql } from '#fleet/jobs/pinned-profiles'
import { traceDispatch } from '#fleet/jobs/traces'
import { systemTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

/** One attempt of one job. */
export type JobReference = { jobId: string; attempt: number; traceparent?: Traceparent | undefined }

/** The fresh jobs of a batch with numbers above `after` and up to `upTo`, in order of their ids. */
export type BatchSlice = { batchId: string; after: number; upTo: number; traceparent?: Traceparent | undefined }

// A crash of Postgres may undo a dispatch: the job is queued again, and the reconciler offers it once more.
const asynchronousCommit = { prelude: 'SET LOCAL synchronous_commit = off' }

/**
 * Dispatches queued jobs to the mailboxes of their devices and wakes the devices that wait for a job. Ends a job whose
 * device is deleted or disabled, or whose version of a profile does not exist. Holds a job whose batch is paused or whose device runs another exclusive job. Recalls a
 * dispatched job that its device may not take now when another exclusive job needs the device.
 */
export async function dispatchJobs(system: SystemContext, references: readonly JobReference[]): Promise<void> {
  const nowMs = system.clock()
  const change = { by: 'system', nowMs }
  const attempts = new Map(references.map(({ jobId, attempt }) => [jobId, attempt]))
  const dispatch = async (connection: Connection) => {
    const locked = await lockWithRivals(connection, [...attempts.keys()])
    const current = locked.filter((job) => attempts.get(job.id) === job.state.attempt && job.state.status === 'queued')
    const contexts = await readDispatchContexts(connection, locked)
    const paused = current.filter((job) => contexts.get(job.id)?.batchStatus === 'paused')
    const wanted = current.filter((job) => !paused.includes(job))
    const handsOut = (job: LockedJob) => contexts.get(job.id)?.handsOut ?? true
    const { blocked, recalled } = planExclusiveJobs(locked, wanted, handsOut, nowMs)
    const admitted = wanted.filter((job) => !blocked.includes(job))

    await changeJobs(connection, recalled, () => ({ type: 'recall' }), change)
    await holdJobs(connection, recalled, 'device')
    await changeJobs(connection, admitted, (job) => eventFor(job, contexts.get(job.id)), change)
    await holdJobs(connection, paused, 'rollout')
    await holdJobs(connection, blocked, 'device')
    const dispatched = admitted.filter((job) => job.state.status === 'dispatched')
    await trace?.keep(connection, dispatched)
    await wakeDevices(connection, [...new Set(dispatched.map(({ deviceId }) => deviceId))])
  }
  const trace = traceDispatch(system.tracing, references)
  try {
    await systemTransaction(system, dispatch, asynchronousCommit)
    trace?.end()
  } catch (error) {
    trace?.end(error)
    throw error
  }
}

/** Dispatches the fresh jobs of a slice, as `dispatchJobs` does. */
export async function dispatchSlice(system: SystemContext, slice: BatchSlice): Promise<void> {
  const { batchId, after, upTo, traceparent } = slice
  const { rows } = await system.pool.query<JobReference>(
    `SELECT id AS "jobId", attempt FROM job
     WHERE id > $1 AND id <= $2 AND batch_id = $3 AND status = 'queued' AND hold = 'fresh'`,
    [batchJobId(batchId, after), batchJobId(batchId, upTo), batchId],
  )
  const references = traceparent ? rows.map((row) => ({ ...row, traceparent })) : rows
  if (rows.length > 0) await dispatchJobs(system, references)
}

/** Ends or retries jobs whose device did not report their end before the deadline. */
export async function endOverdueJobs(system: SystemContext, references: readonly JobReference[]): Promise<void> {
  const attempts = new Map(references.map(({ jobId, attempt }) => [jobId, attempt]))
  await systemTransaction(system, async (connection) => {
    const jobs = await lockJobs(connection, 'SELECT unnest($1::uuid[])', [[...attempts.keys()]])
    const nowMs = system.clock()
    const missed = (job: LockedJob): JobEvent => ({
      type: 'deadline',
      attempt: attempts.get(job.id) ?? 0,
      expiresAtMs: expiryOfRetry(job, nowMs),
    })
    await changeJobs(connection, jobs, missed, { by: 'system', nowMs })
  })
}

/** A next attempt keeps the expiry of the job, unless it has to wait for a window. Then the job has its whole lifetime there. */
function expiryOfRetry(job: LockedJob, nowMs: number): number {
  const { attempt, expiresAtMs } = job.state
  const retryAtMs = nowMs + backOffMs(attempt)
  const fromMs = deliverableFrom(job.schedule, retryAtMs)
  return fromMs > retryAtMs ? Math.max(expiresAtMs, expiryMs(job, fromMs)) : expiresAtMs
}

/**
 * Locks the jobs, and with each exclusive one the other open exclusive jobs of its device. OFFSET 0 makes Postgres start
 * from the devices: until it has new statistics it assumes that open jobs are rare, and would read all jobs of a large
 * batch for each call.
 */
const lockWithRivals = (connection: Connection, jobIds: readonly string[]): Promise<LockedJob[]> =>
  lockJobs(
    connection,
    `SELECT unnest($1::uuid[])
     UNION
     SELECT rival.id FROM job wanted CROSS JOIN LATERAL (
       SELECT id FROM job WHERE device_id = wanted.device_id AND exclusive
         AND status IN ('queued', 'dispatched', 'inProgress') OFFSET 0) rival
     WHERE wanted.id = ANY($1::uuid[]) AND wanted.exclusive`,
    [jobIds],
  )

/**
 * The states a dispatch depends on. `handsOut`: the device of the job may take it now.
 * `isProfileGone`: the version of the profile that it applies does not exist.
 */
type DispatchContext = {
  deviceStatus: string | null
  batchStatus: string | null
  handsOut: boolean
  isProfileGone: boolean
}

async function readDispatchContexts(
  connection: Connection,
  jobs: readonly LockedJob[],
): Promise<Map<string, DispatchContext>> {
  const { rows } = await connection.query<{ id: string } & DispatchContext>(
    `SELECT j.id, d.status AS "deviceStatus", b.status AS "batchStatus", ${handsOutSql('j', 'b')} AS "handsOut",
       ${isProfileGoneSql} AS "isProfileGone"
     FROM job j LEFT JOIN device d ON d.organization_id = j.organization_id AND d.id = j.device_id
       LEFT JOIN job_batch b ON b.id = j.batch_id
     WHERE j.id = ANY($1::uuid[])`,
    [jobs.map(({ id }) => id)],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

function eventFor(job: LockedJob, context: DispatchContext | undefined): JobEvent {
  if (!context?.deviceStatus) return { type: 'withdraw', because: 'deviceGone' }
  if (context.deviceStatus === 'disabled') return { type: 'withdraw', because: 'deviceDisabled' }
  if (context.batchStatus === 'cancelled') return { type: 'cancel' }
  if (context.isProfileGone) return { type: 'withdraw', because: 'profileGone' }
  return { type: 'dispatch', attempt: job.state.attempt }
}
