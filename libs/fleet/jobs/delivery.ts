import { conflict, notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import type { Traceparent } from '#core/tracing'
import { storeAppliedProfile } from '#fleet/config-profiles/applied'
import type { StoredVariables } from '#fleet/config-profiles/variables/snapshot'
import type { SystemContext } from '#fleet/context'
import { markConfigFailed } from '#fleet/devices/status-changes'
import { type LockedJob, lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import { batchDeliversSql, handsOutSql } from '#fleet/jobs/exclusivity'
import { heldBecauseSql } from '#fleet/jobs/model/good-moment'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import type { JobReport, JobStatus } from '#fleet/jobs/model/states'
import { rejectGoneProfiles } from '#fleet/jobs/pinned-profiles'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Queryable } from '#postgres/pool'

/** A device that takes jobs. */
export type JobDevice = { deviceId: string; organizationId: string }

/** A job as its device receives it. `profile` names the profile of an apply_config job, without its settings. */
export type HandedOutJob = {
  id: string
  kind: JobKind
  attempt: number
  parameters: Record<string, unknown>
  profile: { id: string; version: number } | null
  /** The values of the variables of the profile. Not for the device. */
  variables: StoredVariables | null
  cancelRequested: boolean
  expiresAt: string
  /** The trace of the job, if it has one. Not for the device. */
  traceparent: Traceparent | null
}

// OFFSET 0 makes Postgres start from the devices: until it has new statistics it assumes that open jobs are rare, and would
// read all of them for each call in the first minutes of a large batch.
const mailboxJobs = `FROM unnest($1::uuid[], $2::uuid[]) AS asking (device_id, organization_id)
  CROSS JOIN LATERAL (
    SELECT id, organization_id, device_id, batch_id, status, delivery FROM job
    WHERE device_id = asking.device_id AND organization_id = asking.organization_id
      AND status IN ('dispatched', 'inProgress') AND NOT acknowledged OFFSET 0) j
  LEFT JOIN job_batch b ON b.id = j.batch_id`

const isAvailable = `(j.status = 'inProgress' OR ${handsOutSql('j', 'b')})`

const identitiesOf = (devices: readonly JobDevice[]) => [
  devices.map(({ deviceId }) => deviceId),
  devices.map(({ organizationId }) => organizationId),
]

/**
 * Returns, by the id of each device that has a job, whether it could take it now; false: its jobs wait for a good moment. Without
 * the devices that have none. Locks nothing.
 */
export async function devicesWithJobs(db: Queryable, devices: readonly JobDevice[]): Promise<Map<string, boolean>> {
  const { rows } = await db.query<{ device_id: string; available: boolean }>(
    `SELECT asking.device_id, bool_or(j.status = 'inProgress' OR ${heldBecauseSql('j', 'b')} IS NULL) AS available ${mailboxJobs}
     WHERE j.status = 'inProgress' OR ${batchDeliversSql('b')} GROUP BY asking.device_id`,
    identitiesOf(devices),
  )
  return new Map(rows.map(({ device_id, available }) => [device_id, available]))
}

/**
 * Hands the oldest available job to each of these devices and marks it inProgress. Returns the jobs by device id, without
 * the devices that have none. A job whose device has not reported since it took the job is handed out again. Rejects jobs
 * whose version of a profile does not exist.
 */
export async function takeJobs(
  system: SystemContext,
  devices: readonly JobDevice[],
): Promise<Map<string, HandedOutJob>> {
  return systemTransaction(system, async (connection) => {
    const offered = await lockJobs(connection, `SELECT j.id ${mailboxJobs} WHERE ${isAvailable}`, identitiesOf(devices))
    const nowMs = system.clock()
    const deliverable = await rejectGoneProfiles(connection, offered, nowMs)
    const handedOut = await takeOldest(connection, deliverable, nowMs)
    return readHandedOut(connection, handedOut)
  })
}

/** Takes one job per device, in order of creation. When a job turns out to have expired, the next one of its device follows. */
async function takeOldest(connection: Connection, offered: readonly LockedJob[], nowMs: number): Promise<LockedJob[]> {
  const taken = new Map<string, LockedJob>()
  let remaining = offered
  while (remaining.length > 0) {
    const oldestByDevice = new Map<string, LockedJob>()
    for (const job of remaining) if (!oldestByDevice.has(job.deviceId)) oldestByDevice.set(job.deviceId, job)
    const oldest = [...oldestByDevice.values()]
    const take = (job: LockedJob) => ({ type: 'take', timeoutMs: policyOf(job.kind).timeoutMs }) as const
    const outcomes = await changeJobs(connection, oldest, take, { by: ({ deviceId }) => `device:${deviceId}`, nowMs })
    for (const job of oldest) {
      const isAllowed = outcomes.get(job.id) === 'changed' || outcomes.get(job.id) === 'same'
      if (isAllowed && job.state.status === 'inProgress') taken.set(job.deviceId, job)
    }
    remaining = remaining.filter((job) => !taken.has(job.deviceId) && !oldest.includes(job))
  }
  return [...taken.values()]
}

async function readHandedOut(db: Queryable, jobs: readonly LockedJob[]): Promise<Map<string, HandedOutJob>> {
  if (jobs.length === 0) return new Map()
  const { rows } = await db.query<Pick<HandedOutJob, 'id' | 'parameters' | 'profile' | 'variables' | 'traceparent'>>(
    `SELECT j.id, coalesce(b.parameters, j.parameters) AS parameters, j.traceparent, j.variables, CASE WHEN b.profile_version IS NOT NULL
       THEN json_build_object('id', b.profile_id, 'version', b.profile_version) END AS profile
     FROM job j LEFT JOIN job_batch b ON b.id = j.batch_id WHERE j.id = ANY($1::uuid[])`,
    [jobs.map(({ id }) => id)],
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    jobs.map(({ id, deviceId, kind, state }) => {
      const row = found.get(id)
      if (!row) throw new Error('A locked job was not found.')
      const { parameters, profile, variables, traceparent } = row
      const { attempt, cancelRequested } = state
      const expiresAt = new Date(state.expiresAtMs).toISOString()
      return [deviceId, { id, kind, attempt, parameters, profile, variables, cancelRequested, expiresAt, traceparent }]
    }),
  )
}

/**
 * Stores a device's report on a job it took. Throws 404 for a job of another device, and 409 `stale_attempt`, `job_final`
 * or `job_not_taken`. Repeating a report has no effect.
 */
export async function reportJob(
  system: SystemContext,
  { device, jobId, report }: { device: JobDevice; jobId: string; report: JobReport },
): Promise<{ status: JobStatus; cancelRequested: boolean }> {
  if (!isUuid(jobId)) throw notFound('job', jobId)
  return systemTransaction(system, async (connection) => {
    const [job] = await lockJobs(
      connection,
      'SELECT id FROM job WHERE id = $1 AND organization_id = $2 AND device_id = $3',
      [jobId, device.organizationId, device.deviceId],
    )
    if (!job) throw notFound('job', jobId)
    const change = { by: `device:${device.deviceId}`, nowMs: system.clock() }
    const outcome = (await changeJobs(connection, [job], () => ({ type: 'report', report }), change)).get(jobId)
    const { status, attempt, cancelRequested } = job.state
    const refuse = (code: string, detail: string) => conflict(code, detail, { attempt, status })
    if (outcome === 'staleAttempt')
      throw refuse('stale_attempt', `The job is at attempt ${attempt}, the report is for attempt ${report.attempt}.`)
    if (outcome === 'final') throw refuse('job_final', `The job has already ended: ${status}.`)
    if (outcome === 'notTaken') throw refuse('job_not_taken', 'Take the job with GET /device/jobs/next first.')
    if (outcome === 'changed' && job.kind === 'apply_config') await updateDeviceConfig(connection, job)
    return { status, cancelRequested }
  })
}

/** Stores the applied profile of a device after a config job that succeeded, or its status `error` after one that failed. */
async function updateDeviceConfig(connection: Connection, job: LockedJob): Promise<void> {
  const { organizationId, deviceId } = job
  if (job.state.status === 'succeeded') await storeAppliedProfile(connection, job)
  if (job.state.status === 'failed') await markConfigFailed(connection, organizationId, deviceId)
}

/** Devices per query: a single query for 100,000 devices would block the database and the event loop for too long. */
const devicesPerPage = 5_000

/** The number of jobs in the mailbox of each device, without the devices that have none. */
export async function countJobsInMailboxes(db: Queryable): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let after: string | null = null; ; ) {
    const { rows }: { rows: { device_id: string; count: number }[] } = await db.query(
      `SELECT device_id, count(*)::int AS count FROM job
       WHERE status IN ('dispatched', 'inProgress') AND NOT acknowledged AND ($1::uuid IS NULL OR device_id > $1)
       GROUP BY device_id ORDER BY device_id LIMIT ${devicesPerPage}`,
      [after],
    )
    for (const { device_id, count } of rows) counts.set(device_id, count)
    after = rows.at(-1)?.device_id ?? null
    if (rows.length < devicesPerPage) return counts
  }
}
