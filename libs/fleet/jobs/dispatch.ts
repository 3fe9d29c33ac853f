import { handsOutSql, planExclusiveJobs } from '#fleet/jobs/exclusivity'
import { batchJobId } from '#fleet/jobs/model/batch-ids'
import type { JobEvent } from '#fleet/jobs/model/states'
import { changeJobs, holdJobs, jobTransaction, type LockedJob, lockJobs } from '#fleet/jobs/write'
import type { Connection, Pool } from '#postgres/pool'

/** One attempt of one job. */
export type JobReference = { jobId: string; attempt: number }

/** The jobs of a batch that come after number `after` up to number `upTo`, in order of their ids: those that are fresh. */
export type BatchSlice = { batchId: string; after: number; upTo: number }

/** Channel on which the device edge hears whose jobs wait; the payload is device ids, separated by commas. */
export const deviceJobsChannel = 'device_jobs'
/** Instead of ids: whoever waits should look. */
export const allDevices = '*'

const system = (nowMs: number) => ({ by: 'system', nowMs })

// A crash of Postgres may take a release back: the job is queued again, and the reconciler offers it once more.
const dispatching = { prelude: 'SET LOCAL synchronous_commit = off' }

/**
 * Releases queued jobs to their devices' mailboxes and wakes the devices that wait. A job whose device is gone or disabled
 * ends; one whose batch is paused, or whose device is busy with another exclusive job, is taken back from the queue. A
 * dispatched job whose batch hands nothing out is queued again when another exclusive job wants its device.
 */
export async function dispatchJobs(pool: Pool, references: readonly JobReference[], nowMs: number): Promise<void> {
  const attempts = new Map(references.map(({ jobId, attempt }) => [jobId, attempt]))
  const work = async (connection: Connection) => {
    const locked = await lockWithRivals(connection, [...attempts.keys()])
    const named = locked.filter((job) => attempts.get(job.id) === job.state.attempt && job.state.status === 'queued')
    const surroundings = await readSurroundings(connection, locked)
    const paused = named.filter((job) => surroundings.get(job.id)?.batchStatus === 'paused')
    const wanted = named.filter((job) => !paused.includes(job))
    const handsOut = (job: LockedJob) => surroundings.get(job.id)?.handsOut ?? true
    const { blocked, recalled } = planExclusiveJobs(locked, wanted, handsOut, nowMs)
    const going = wanted.filter((job) => !blocked.includes(job))

    await changeJobs(connection, recalled, () => ({ type: 'recall' }), system(nowMs))
    await holdJobs(connection, recalled, 'device')
    await changeJobs(connection, going, (job) => eventFor(job, surroundings.get(job.id)), system(nowMs))
    await holdJobs(connection, paused, 'rollout')
    await holdJobs(connection, blocked, 'device')
    const dispatched = going.filter((job) => job.state.status === 'dispatched')
    await notifyDevices(connection, [...new Set(dispatched.map(({ deviceId }) => deviceId))])
  }
  await jobTransaction(pool, null, work, dispatching)
}

/** Releases the fresh jobs of a slice in the same way. */
export async function dispatchSlice(pool: Pool, { batchId, after, upTo }: BatchSlice, nowMs: number): Promise<void> {
  const { rows } = await pool.query<JobReference>(
    `SELECT id AS "jobId", attempt FROM job
     WHERE id > $1 AND id <= $2 AND batch_id = $3 AND status = 'queued' AND hold = 'fresh'`,
    [batchJobId(batchId, after), batchJobId(batchId, upTo), batchId],
  )
  if (rows.length > 0) await dispatchJobs(pool, rows, nowMs)
}

/** Ends or retries jobs that were taken and not reported final in time. */
export async function endOverdueJobs(pool: Pool, references: readonly JobReference[], nowMs: number): Promise<void> {
  const attempts = new Map(references.map(({ jobId, attempt }) => [jobId, attempt]))
  await jobTransaction(pool, null, async (connection) => {
    const jobs = await lockJobs(connection, 'SELECT unnest($1::uuid[])', [[...attempts.keys()]])
    await changeJobs(
      connection,
      jobs,
      (job) => ({ type: 'deadline', attempt: attempts.get(job.id) ?? 0 }),
      system(nowMs),
    )
  })
}

/**
 * The jobs, and with each exclusive one the other open exclusive jobs of its device. OFFSET 0 has Postgres begin with the
 * devices: it takes open jobs for rare as long as it knows no better, and would read all of a large batch each time.
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

/** `handsOut`: the job is single, or its batch runs and its window is open. */
type Surroundings = { deviceStatus: string | null; batchStatus: string | null; handsOut: boolean }

async function readSurroundings(
  connection: Connection,
  jobs: readonly LockedJob[],
): Promise<Map<string, Surroundings>> {
  const { rows } = await connection.query<{ id: string } & Surroundings>(
    `SELECT j.id, d.status AS "deviceStatus", b.status AS "batchStatus", ${handsOutSql('b')} AS "handsOut"
     FROM job j LEFT JOIN device d ON d.organization_id = j.organization_id AND d.id = j.device_id
       LEFT JOIN job_batch b ON b.id = j.batch_id
     WHERE j.id = ANY($1::uuid[])`,
    [jobs.map(({ id }) => id)],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

function eventFor(job: LockedJob, surroundings: Surroundings | undefined): JobEvent {
  if (!surroundings?.deviceStatus) return { type: 'withdraw', because: 'deviceGone' }
  if (surroundings.deviceStatus === 'disabled') return { type: 'withdraw', because: 'deviceDisabled' }
  if (surroundings.batchStatus === 'cancelled') return { type: 'cancel' }
  return { type: 'dispatch', attempt: job.state.attempt }
}

// A notice may have 8,000 bytes; an id with its comma takes 37.
const idsPerNotice = 200

async function notifyDevices(connection: Connection, deviceIds: readonly string[]): Promise<void> {
  for (let start = 0; start < deviceIds.length; start += idsPerNotice) {
    const payload = deviceIds.slice(start, start + idsPerNotice).join(',')
    await connection.query(`SELECT pg_notify('${deviceJobsChannel}', $1)`, [payload])
  }
}

/** Has every waiting device look: jobs that were dispatched before may be handed out again. */
export const wakeWaitingDevices = (connection: Connection) =>
  connection.query(`SELECT pg_notify('${deviceJobsChannel}', '${allDevices}')`)
