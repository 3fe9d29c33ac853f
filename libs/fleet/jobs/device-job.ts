import { conflict, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize, sees } from '#fleet/access/principal'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import { type Job, type JobFilter, listJobs, readJob } from '#fleet/jobs/read'
import { changeJobs, jobTransaction, type LockedJob, lockJobs, wakeWorker } from '#fleet/jobs/write'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import type { Connection, Queryable } from '#postgres/pool'

export type DeviceJobInput = {
  kind: JobKind
  parameters?: Record<string, unknown> | undefined
  expiresInSeconds?: number | undefined
}

type DeviceFacts = { organizationId: string; status: string }

/** Finds a device of any organization the caller sees. Throws 404. */
async function findDevice(ctx: FleetContext, db: Queryable, deviceId: string): Promise<DeviceFacts> {
  const { rows } = isUuid(deviceId)
    ? await db.query<{ organization_id: string; status: string }>(
        'SELECT organization_id, status FROM device WHERE id = $1',
        [deviceId],
      )
    : { rows: [] }
  const row = rows[0]
  if (!row || !sees(ctx.principal, row.organization_id)) throw notFound('device', deviceId)
  return { organizationId: row.organization_id, status: row.status }
}

const refuseDisabled = (): never => {
  throw conflict('device_disabled', 'The device is disabled and takes no jobs.')
}

/** Creates one job for one device (`job:create`). Throws 404, 402, and 409 `device_disabled`. */
export async function createDeviceJob(ctx: FleetContext, deviceId: string, input: DeviceJobInput): Promise<Job> {
  const { organizationId } = await findDevice(ctx, ctx.pool, deviceId)
  authorize(ctx.principal, organizationId, 'job:create')
  const policy = policyOf(input.kind)
  const lifetimeS = input.expiresInSeconds ?? policy.lifetimeS
  return jobTransaction(ctx.pool, organizationId, async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const device = await findDevice(ctx, connection, deviceId)
    if (device.status === 'disabled') refuseDisabled()
    const nowMs = ctx.clock()
    const jobId = newId(nowMs)
    await connection.query(
      `INSERT INTO job (id, organization_id, device_id, kind, exclusive, status, max_attempts, parameters, lifetime_s,
         expires_at, created_by, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8, $9, $10, uuid_extract_timestamp($1), uuid_extract_timestamp($1))`,
      [
        jobId,
        organizationId,
        deviceId,
        input.kind,
        policy.exclusive,
        policy.maxAttempts,
        JSON.stringify(input.parameters ?? {}),
        lifetimeS,
        new Date(nowMs + lifetimeS * 1_000),
        ctx.principal.id,
      ],
    )
    await recordJobAudit(ctx, connection, organizationId, jobId, 'job.created', { kind: input.kind, deviceId })
    await wakeWorker(connection)
    return readJob(connection, organizationId, jobId)
  })
}

/** The jobs of one device, newest first (`device:read` and `job:read`). Throws 404. */
export async function listDeviceJobs(
  ctx: FleetContext,
  deviceId: string,
  filter: Pick<JobFilter, 'status' | 'kind'>,
  page: { limit: number; after: string | undefined },
): Promise<{ items: Job[]; nextAfter: string | null }> {
  const { organizationId } = await findDevice(ctx, ctx.pool, deviceId)
  authorize(ctx.principal, organizationId, 'device:read')
  return listJobs(ctx, organizationId, { ...filter, deviceId }, page)
}

/**
 * Cancels a job (`job:cancel`). One that a device has taken is only asked to stop: `cancelRequested`, and the device's
 * report decides. Throws 404, 402, and 409 `job_final`.
 */
export async function cancelJob(ctx: FleetContext, organizationId: string, jobId: string): Promise<Job> {
  await authorizeObject(ctx, organizationId, 'job:cancel', 'job', jobId)
  return jobTransaction(ctx.pool, organizationId, async (connection) => {
    const job = await lockJob(ctx, connection, organizationId, jobId)
    const outcomes = await changeJobs(connection, [job], () => ({ type: 'cancel' }), changeBy(ctx))
    if (outcomes.get(jobId) === 'final') throw conflict('job_final', `The job has ended: ${job.state.status}.`)
    await recordJobAudit(ctx, connection, organizationId, jobId, 'job.cancelled', { status: job.state.status })
    return readJob(connection, organizationId, jobId)
  })
}

/**
 * Queues a job that has ended without success once more, as its next attempt (`job:create`). Throws 404, 402, and 409
 * `job_not_retryable` or `device_disabled`.
 */
export async function retryJob(ctx: FleetContext, organizationId: string, jobId: string): Promise<Job> {
  await authorizeObject(ctx, organizationId, 'job:create', 'job', jobId)
  return jobTransaction(ctx.pool, organizationId, async (connection) => {
    const job = await lockJob(ctx, connection, organizationId, jobId)
    const { rows } = await connection.query<{ status: string }>(
      'SELECT status FROM device WHERE organization_id = $1 AND id = $2',
      [organizationId, job.deviceId],
    )
    const outcomes = await changeJobs(connection, [job], retryOf(ctx), changeBy(ctx))
    if (outcomes.get(jobId) !== 'changed') {
      throw conflict('job_not_retryable', `Only a job that ended without success is retried: ${job.state.status}.`)
    }
    if (!rows[0]) throw conflict('device_gone', 'The device does not belong to the organization any more.')
    if (rows[0].status === 'disabled') refuseDisabled()
    await recordJobAudit(ctx, connection, organizationId, jobId, 'job.retried', { attempt: job.state.attempt })
    return readJob(connection, organizationId, jobId)
  })
}

/** The event that gives a job a full set of attempts and its whole life again. */
export const retryOf = (ctx: FleetContext) => (job: LockedJob) =>
  ({
    type: 'retry',
    maxAttempts: policyOf(job.kind).maxAttempts,
    expiresAtMs: ctx.clock() + job.lifetimeS * 1_000,
  }) as const

export const changeBy = (ctx: FleetContext) => ({ by: ctx.principal.id, nowMs: ctx.clock() })

async function lockJob(
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  jobId: string,
): Promise<LockedJob> {
  const [job] = isUuid(jobId)
    ? await lockJobs(connection, 'SELECT id FROM job WHERE organization_id = $1 AND id = $2', [organizationId, jobId])
    : []
  if (!job) throw notFound('job', jobId)
  await requireActiveSubscription(ctx, connection, organizationId)
  return job
}

const recordJobAudit = (
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  jobId: string,
  action: string,
  detail: Record<string, unknown>,
) =>
  recordAudit(connection, [
    {
      organizationId,
      actor: ctx.principal.id,
      action,
      subjectType: 'job',
      subjectId: jobId,
      detail,
      requestId: ctx.requestId,
    },
  ])
