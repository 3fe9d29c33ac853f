import { conflict, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { findDevice } from '#fleet/devices/device'
import { readFirmwareContent } from '#fleet/firmware/read'
import { type LockedJob, lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import { wakeWorker } from '#fleet/jobs/notices'
import { requirePinnedProfile } from '#fleet/jobs/pinned-profiles'
import { type Job, type JobFilter, listJobs, type OrganizationJob, readJob } from '#fleet/jobs/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import type { Page, PageRequest } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

type NewDeviceJob = {
  deviceId: string
  kind: JobKind
  parameters?: Record<string, unknown> | undefined
  /** An image of the catalogue, instead of `parameters`. */
  firmwareImageId?: string | undefined
  expiresInSeconds?: number | undefined
}

const deviceDisabled = () => conflict('device_disabled', 'The device is disabled and accepts no jobs.')

/**
 * Creates one job for one device (`job:create`). Throws 404, 402, and 409 `device_disabled`, `model_mismatch` or
 * `limit_reached`.
 */
export async function createDeviceJob(ctx: FleetContext, { deviceId, ...input }: NewDeviceJob): Promise<Job> {
  const { organization_id: organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'job:create')
  const policy = policyOf(input.kind)
  const lifetimeS = input.expiresInSeconds ?? policy.lifetimeS
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const device = await findDevice(ctx, connection, deviceId, 'job:create')
    if (device.status === 'disabled') throw deviceDisabled()
    const parameters = await parametersFor(connection, device, input)
    const nowMs = ctx.clock()
    const jobId = newId(nowMs)
    await connection.query(
      `INSERT INTO job (id, organization_id, device_id, kind, exclusive, status, max_attempts, parameters, lifetime_s,
         expires_at, created_by, created_at, updated_at, traceparent)
       VALUES ($1, $2, $3, $4, $5, 'queued', $6, $7, $8, $9, $10, uuid_extract_timestamp($1), uuid_extract_timestamp($1),
         $11)`,
      [
        jobId,
        organizationId,
        deviceId,
        input.kind,
        policy.exclusive,
        policy.maxAttempts,
        JSON.stringify(parameters),
        lifetimeS,
        new Date(nowMs + lifetimeS * 1_000),
        ctx.principal.id,
        ctx.traceparent ?? null,
      ],
    )
    const detail = { kind: input.kind, deviceId }
    await auditCaller(ctx, connection, { ...jobSubject(organizationId, jobId), action: 'job.created', detail })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'openDeviceJobs', owner: deviceId })
    await wakeWorker(connection)
    return readJob(connection, organizationId, jobId)
  })
}

async function parametersFor(
  connection: Connection,
  device: { organization_id: string; model: string },
  { parameters = {}, firmwareImageId }: Omit<NewDeviceJob, 'deviceId'>,
): Promise<Record<string, unknown>> {
  if (firmwareImageId === undefined) return parameters
  const reference = { organizationId: device.organization_id, imageId: firmwareImageId }
  const content = await readFirmwareContent(connection, reference)
  if (content.models === null || content.models.includes(device.model)) return content.parameters
  throw conflict('model_mismatch', `The firmware image does not support the model ${device.model}.`)
}

/** The jobs of one device, newest first (`device:read` and `job:read`). Throws 404. */
export async function listDeviceJobs(
  ctx: FleetContext,
  { deviceId, filter, page }: { deviceId: string; filter: Pick<JobFilter, 'status' | 'kind'>; page: PageRequest },
): Promise<Page<Job>> {
  const { organization_id: organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:read')
  return listJobs(ctx, { organizationId, filter: { ...filter, deviceId }, page })
}

/**
 * Cancels a job (`job:cancel`). For a job that its device has taken this sets `cancelRequested`, and the device's report
 * decides. Throws 404, 402, and 409 `job_final`.
 */
export async function cancelJob(ctx: FleetContext, { organizationId, jobId }: OrganizationJob): Promise<Job> {
  await authorizeObject(ctx, organizationId, 'job:cancel', 'job', jobId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const job = await lockJob(ctx, connection, organizationId, jobId)
    const outcomes = await changeJobs(connection, [job], () => ({ type: 'cancel' }), changeByCaller(ctx))
    const { status } = job.state
    if (outcomes.get(jobId) === 'final') throw conflict('job_final', `The job has already ended: ${status}.`)
    const subject = jobSubject(organizationId, jobId)
    await auditCaller(ctx, connection, { ...subject, action: 'job.cancelled', detail: { status } })
    return readJob(connection, organizationId, jobId)
  })
}

/**
 * Queues a job that ended without success again, as its next attempt (`job:create`). Throws 404, 402, and 409
 * `job_not_retryable`, `device_gone`, `device_disabled` or `profile_gone`.
 */
export async function retryJob(ctx: FleetContext, { organizationId, jobId }: OrganizationJob): Promise<Job> {
  await authorizeObject(ctx, organizationId, 'job:create', 'job', jobId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const job = await lockJob(ctx, connection, organizationId, jobId)
    const { rows } = await connection.query<{ status: string }>(
      'SELECT status FROM device WHERE organization_id = $1 AND id = $2',
      [organizationId, job.deviceId],
    )
    const outcomes = await changeJobs(connection, [job], retryOf(ctx), changeByCaller(ctx))
    const { status, attempt } = job.state
    if (outcomes.get(jobId) !== 'changed') {
      throw conflict(
        'job_not_retryable',
        `Only a job that ended without success can be retried; this one is ${status}.`,
      )
    }
    if (!rows[0]) throw conflict('device_gone', 'The device no longer belongs to the organization.')
    if (rows[0].status === 'disabled') throw deviceDisabled()
    if (job.batchId !== null) await requirePinnedProfile(connection, { organizationId, batchId: job.batchId })
    const subject = jobSubject(organizationId, jobId)
    await auditCaller(ctx, connection, { ...subject, action: 'job.retried', detail: { attempt } })
    return readJob(connection, organizationId, jobId)
  })
}

/** The event that gives a job a full set of attempts and its whole lifetime again. */
export const retryOf = (ctx: FleetContext) => (job: LockedJob) =>
  ({
    type: 'retry',
    maxAttempts: policyOf(job.kind).maxAttempts,
    expiresAtMs: ctx.clock() + job.lifetimeS * 1_000,
  }) as const

/** Names the caller as the actor of a change, at the present time. */
export const changeByCaller = (ctx: FleetContext) => ({ by: ctx.principal.id, nowMs: ctx.clock() })

const jobSubject = (organizationId: string, jobId: string) => ({ organizationId, subjectType: 'job', subjectId: jobId })

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
