import { conflict, notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { markConfigFailed } from '#fleet/devices/status'
import { handsOutSql } from '#fleet/jobs/exclusivity'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import type { DeviceReport, JobStatus } from '#fleet/jobs/model/states'
import { changeJobs, jobTransaction, type LockedJob, lockJobs } from '#fleet/jobs/write'
import type { Connection, Pool, Queryable } from '#postgres/pool'

export type DeviceIdentity = { deviceId: string; organizationId: string }

/** A job as it is handed to its device. `profile` is what apply_config applies, still without its settings. */
export type HandedOutJob = {
  id: string
  kind: JobKind
  attempt: number
  parameters: Record<string, unknown>
  profile: { id: string; version: number } | null
  cancelRequested: boolean
  expiresAt: string
}

/**
 * Takes the oldest job that each of these devices may have now, which makes it inProgress; a job handed out before and
 * not reported since is handed out again. Devices without one are absent from the answer.
 */
export async function takeJobs(
  pool: Pool,
  devices: readonly DeviceIdentity[],
  nowMs: number,
): Promise<Map<string, HandedOutJob>> {
  return jobTransaction(pool, null, async (connection) => {
    const offered = await lockJobs(
      connection,
      // OFFSET 0 has Postgres begin with the devices: it takes open jobs for rare as long as it knows no better, and
      // would read all of them for each call in the first minutes of a large batch.
      `SELECT j.id FROM unnest($1::uuid[], $2::uuid[]) AS asking (device_id, organization_id)
         CROSS JOIN LATERAL (
           SELECT id, batch_id, status FROM job
           WHERE device_id = asking.device_id AND organization_id = asking.organization_id
             AND status IN ('dispatched', 'inProgress') AND NOT acknowledged OFFSET 0) j
         LEFT JOIN job_batch b ON b.id = j.batch_id
       WHERE j.status = 'inProgress' OR ${handsOutSql('b')}`,
      [devices.map(({ deviceId }) => deviceId), devices.map(({ organizationId }) => organizationId)],
    )
    const handedOut = await takeOldest(connection, offered, nowMs)
    return readHandedOut(connection, handedOut)
  })
}

/** One job a device, in order of creation. One that turns out to have expired makes room for the device's next. */
async function takeOldest(connection: Connection, offered: readonly LockedJob[], nowMs: number): Promise<LockedJob[]> {
  const served = new Map<string, LockedJob>()
  let rest = offered
  while (rest.length > 0) {
    const first = new Map<string, LockedJob>()
    for (const job of rest) if (!first.has(job.deviceId)) first.set(job.deviceId, job)
    const asked = [...first.values()]
    const take = (job: LockedJob) => ({ type: 'take', timeoutMs: policyOf(job.kind).timeoutMs }) as const
    const outcomes = await changeJobs(connection, asked, take, { by: ({ deviceId }) => `device:${deviceId}`, nowMs })
    for (const job of asked) {
      const mayHave = outcomes.get(job.id) === 'changed' || outcomes.get(job.id) === 'same'
      if (mayHave && job.state.status === 'inProgress') served.set(job.deviceId, job)
    }
    rest = rest.filter((job) => !served.has(job.deviceId) && !asked.includes(job))
  }
  return [...served.values()]
}

async function readHandedOut(db: Queryable, jobs: readonly LockedJob[]): Promise<Map<string, HandedOutJob>> {
  if (jobs.length === 0) return new Map()
  const { rows } = await db.query<{
    id: string
    parameters: Record<string, unknown>
    profile_id: string | null
    profile_version: number | null
  }>(
    `SELECT j.id, coalesce(b.parameters, j.parameters) AS parameters, b.profile_id, b.profile_version
     FROM job j LEFT JOIN job_batch b ON b.id = j.batch_id WHERE j.id = ANY($1::uuid[])`,
    [jobs.map(({ id }) => id)],
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    jobs.map(({ id, deviceId, kind, state }) => {
      const row = found.get(id)
      const profile =
        row?.profile_id && row.profile_version ? { id: row.profile_id, version: row.profile_version } : null
      const { attempt, cancelRequested } = state
      const expiresAt = new Date(state.expiresAtMs).toISOString()
      return [deviceId, { id, kind, attempt, parameters: row?.parameters ?? {}, profile, cancelRequested, expiresAt }]
    }),
  )
}

/**
 * Writes what a device says about a job it took. Throws 404 for a job of another device, and 409 `stale_attempt`,
 * `job_final` or `job_not_taken`; the same report once more is fine.
 */
export async function reportJob(
  pool: Pool,
  device: DeviceIdentity,
  jobId: string,
  report: DeviceReport,
  nowMs: number,
): Promise<{ status: JobStatus; cancelRequested: boolean }> {
  if (!isUuid(jobId)) throw notFound('job', jobId)
  return jobTransaction(pool, null, async (connection) => {
    const [job] = await lockJobs(
      connection,
      'SELECT id FROM job WHERE id = $1 AND organization_id = $2 AND device_id = $3',
      [jobId, device.organizationId, device.deviceId],
    )
    if (!job) throw notFound('job', jobId)
    const by = `device:${device.deviceId}`
    const outcome = (await changeJobs(connection, [job], () => ({ type: 'report', report }), { by, nowMs })).get(jobId)
    const { status, attempt, cancelRequested } = job.state
    if (outcome === 'staleAttempt')
      throw conflict('stale_attempt', `The job's attempt is ${attempt}.`, { attempt, status })
    if (outcome === 'final') throw conflict('job_final', `The job has ended: ${status}.`, { attempt, status })
    if (outcome === 'notTaken') throw conflict('job_not_taken', 'Ask for the job first.', { attempt, status })
    if (outcome === 'changed' && job.kind === 'apply_config') await applyToDevice(connection, job)
    return { status, cancelRequested }
  })
}

/** What the end of a config job means for the device: it has the profile, or it is in error. */
async function applyToDevice(connection: Connection, job: LockedJob): Promise<void> {
  const { organizationId, deviceId } = job
  if (job.state.status === 'succeeded') {
    await connection.query(
      `UPDATE device d SET config_profile_id = b.profile_id, config_profile_version = b.profile_version,
         revision = d.revision + 1, updated_at = now()
       FROM job_batch b WHERE b.id = $3 AND d.organization_id = $1 AND d.id = $2`,
      [organizationId, deviceId, job.batchId],
    )
  }
  if (job.state.status === 'failed') await markConfigFailed(connection, organizationId, deviceId)
}

/** The mailboxes of so many devices are counted at a time: neither side is held up by a hundred thousand of them. */
const countedTogether = 5_000

/** How many jobs lie in the mailbox of each device; devices without one are absent. */
export async function countJobsInMailboxes(db: Queryable): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let after: string | null = null; ; ) {
    const { rows }: { rows: { device_id: string; count: number }[] } = await db.query(
      `SELECT device_id, count(*)::int AS count FROM job
       WHERE status IN ('dispatched', 'inProgress') AND NOT acknowledged AND ($1::uuid IS NULL OR device_id > $1)
       GROUP BY device_id ORDER BY device_id LIMIT ${countedTogether}`,
      [after],
    )
    for (const { device_id, count } of rows) counts.set(device_id, count)
    after = rows.at(-1)?.device_id ?? null
    if (rows.length < countedTogether) return counts
  }
}
