import { conflict, notFound } from '#core/errors'
import { newId } from '#core/ids'
import type { Scope } from '#fleet/access/scopes'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { findDevice } from '#fleet/devices/device'
import { readFirmwareContent } from '#fleet/firmware/read'
import { type LockedJob, lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import { isDeliveryOver, type JobDelivery, type NewJobDelivery, requireDelivery } from '#fleet/jobs/model/good-moment'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import { expiryMs, requireRepresentable } from '#fleet/jobs/model/lifetime'
import { deliverableFrom, type Schedule } from '#fleet/jobs/model/schedule'
import { wakeWorker } from '#fleet/jobs/notices'
import { requirePinnedProfile } from '#fleet/jobs/pinned-profiles'
import { type Job, type JobFilter, jobAccess, listJobs, type OrganizationJob, readJob } from '#fleet/jobs/read'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import type { Page, PageRequest } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

type NewDeviceJob = {
  deviceId: string
  kind: JobKind
  parameters?: Record<string, unknown> | undefined
  /** An image of the catalogue, instead of `parameters`. */
  firmwareImageId?: string | undefined
  expiresInSeconds?: number | undefined
  delivery?: NewJobDelivery | undefined
}

const deviceDisabled = () => conflict('device_disabled', 'The device is disabled and accepts no jobs.')

/**
 * Creates one job for one device (`job:create`). Throws 404, 400 for a delivery that is too late or too early, 402, and 409
 * `device_disabled`, `model_mismatch` or `limit_reached`.
 */
export async function createDeviceJob(ctx: FleetContext, { deviceId, ...input }: NewDeviceJob): Promise<Job> {
  const { organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'job:create')
  const { exclusive, maxAttempts, ...policy } = policyOf(input.kind)
  const lifetimeS = input.expiresInSeconds ?? policy.lifetimeS
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const device = await findDevice(ctx, connection, deviceId, 'job:create')
    if (device.status === 'disabled') throw deviceDisabled()
    const parameters = await parametersFor(connection, device, input)
    const nowMs = ctx.clock()
    const delivery = requireDelivery(input.delivery, null, nowMs)
    const expiresAt = requireRepresentable(
      expiryMs({ lifetimeS, schedule: null, delivery }, nowMs),
      '/delivery/latestAt',
    )
    const jobId = newId(nowMs)
    const { kind } = input
    await queryEntities(
      connection,
      `INSERT INTO job (id, organization_id, device_id, kind, exclusive, status, max_attempts, parameters, lifetime_s,
         expires_at, delivery, created_by, created_at, updated_at, traceparent)
       VALUES ($jobId, $organizationId, $deviceId, $kind, $exclusive, 'queued', $maxAttempts, $parameters, $lifetimeS,
         $expiresAt, $delivery, $createdBy, uuid_extract_timestamp($jobId), uuid_extract_timestamp($jobId), $traceparent)`,
      {
        ...{ jobId, organizationId, deviceId, kind, exclusive, maxAttempts, parameters, lifetimeS },
        ...{ expiresAt, delivery, createdBy: ctx.principal.id, traceparent: ctx.traceparent },
      },
    )
    await auditObject(ctx, connection, 'job.created', { organizationId, id: jobId }, { kind, deviceId })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'openDeviceJobs', owner: deviceId })
    await wakeWorker(connection)
    return readJob(ctx, connection, { organizationId, jobId })
  })
}

async function parametersFor(
  connection: Connection,
  device: { organizationId: string; model: string },
  { parameters = {}, firmwareImageId }: Omit<NewDeviceJob, 'deviceId'>,
): Promise<Record<string, unknown>> {
  if (firmwareImageId === undefined) return parameters
  const reference = { organizationId: device.organizationId, imageId: firmwareImageId }
  const content = await readFirmwareContent(connection, reference)
  if (content.models === null || content.models.includes(device.model)) return content.parameters
  throw conflict('model_mismatch', `The firmware image does not support the model ${device.model}.`)
}

/** The jobs of one device, newest first (`device:read` and `job:read`). Throws 404. */
export async function listDeviceJobs(
  ctx: FleetContext,
  { deviceId, filter, page }: { deviceId: string; filter: Pick<JobFilter, 'status' | 'kind'>; page: PageRequest },
): Promise<Page<Job>> {
  const { organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:read')
  return listJobs(ctx, { organizationId, filter: { ...filter, deviceId }, page })
}

/**
 * Cancels a job (`job:cancel`). For a job that its device has taken this sets `cancelRequested`, and the device's report
 * decides. Throws 404, 402, and 409 `job_final`.
 */
export const cancelJob = (ctx: FleetContext, reference: OrganizationJob): Promise<Job> =>
  changeJob(ctx, reference, 'job:cancel', async (connection, job) => {
    const outcomes = await changeJobs(connection, [job], () => ({ type: 'cancel' }), changeByCaller(ctx))
    const { status } = job.state
    if (outcomes.get(job.id) === 'final') throw conflict('job_final', `The job has already ended: ${status}.`)
    await auditObject(ctx, connection, 'job.cancelled', job, { status })
    return readJob(ctx, connection, reference)
  })

/**
 * Queues a job that ended without success again, as its next attempt (`job:create`). Throws 404, 402, and 409
 * `job_not_retryable`, `device_gone`, `device_disabled`, `delivery_over` or `profile_gone`.
 */
export const retryJob = (ctx: FleetContext, reference: OrganizationJob): Promise<Job> =>
  changeJob(ctx, reference, 'job:create', async (connection, job) => {
    const { organizationId } = reference
    const { rows } = await connection.query<{ status: string }>(
      'SELECT status FROM device WHERE organization_id = $1 AND id = $2',
      [organizationId, job.deviceId],
    )
    const outcomes = await changeJobs(connection, [job], retryOf(ctx), changeByCaller(ctx))
    const { status, attempt } = job.state
    if (outcomes.get(job.id) !== 'changed') {
      throw conflict(
        'job_not_retryable',
        `Only a job that ended without success can be retried; this one is ${status}.`,
      )
    }
    requireDeliverable(job, ctx.clock())
    if (!rows[0]) throw conflict('device_gone', 'The device no longer belongs to the organization.')
    if (rows[0].status === 'disabled') throw deviceDisabled()
    if (job.batchId !== null) await requirePinnedProfile(connection, { organizationId, batchId: job.batchId })
    await auditObject(ctx, connection, 'job.retried', job, { attempt })
    return readJob(ctx, connection, reference)
  })

/** What decides whether a job can still be delivered. */
type Deliverable = { schedule: Schedule | null; delivery: JobDelivery | null }

/** Throws 409 for a job that expires at a `latestAt` before its schedule lets devices take it: it could never be delivered. */
export function requireDeliverable({ schedule, delivery }: Deliverable, nowMs: number): void {
  const fromMs = deliverableFrom(schedule, nowMs)
  if (!isDeliveryOver(delivery, fromMs)) return
  const from =
    fromMs > nowMs ? ` is before ${new Date(fromMs).toISOString()}, when devices may take the job.` : ' has passed.'
  throw conflict('delivery_over', `\`delivery.latestAt\`${from} Create a new job.`)
}

/** The event that gives a job a full set of attempts, and its whole lifetime from when its schedule lets it run. */
export const retryOf = (ctx: FleetContext) => (job: LockedJob) =>
  ({
    type: 'retry',
    maxAttempts: policyOf(job.kind).maxAttempts,
    expiresAtMs: expiryMs(job, deliverableFrom(job.schedule, ctx.clock())),
  }) as const

/** Names the caller as the actor of a change, at the present time. */
export const changeByCaller = (ctx: FleetContext) => ({ by: ctx.principal.id, nowMs: ctx.clock() })

/** Runs `work` with a job, which it locks. Throws 404, 403 and 402. */
const changeJob = (
  ctx: FleetContext,
  reference: OrganizationJob,
  scope: Scope,
  work: (connection: Connection, job: LockedJob) => Promise<Job>,
): Promise<Job> =>
  withObject(ctx, jobAccess(reference, scope), async (connection) => {
    const { organizationId, jobId } = reference
    const key = [organizationId, jobId]
    const [job] = await lockJobs(connection, 'SELECT id FROM job WHERE organization_id = $1 AND id = $2', key)
    if (!job) throw notFound('job', jobId)
    await requireActiveSubscription(ctx, connection, organizationId)
    return work(connection, job)
  })
