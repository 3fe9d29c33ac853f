import { conflict, notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import type { Scope } from '#fleet/access/scopes'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type Batch, type BatchStatus, jobOfBatchSql, readBatch } from '#fleet/jobs/batches/read'
import { changeBy, retryOf } from '#fleet/jobs/device-job'
import { wakeWaitingDevices } from '#fleet/jobs/dispatch'
import { type Schedule, scheduleAt } from '#fleet/jobs/model/schedule'
import { type ChangeBy, changeJobs, holdJobs, jobTransaction, lockJobs, wakeWorker } from '#fleet/jobs/write'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import type { Connection, Pool } from '#postgres/pool'

/** So many jobs are changed in one transaction; others get at the batch's counters in between. */
const chunkSize = 2_000

type FoundBatch = { status: BatchStatus; schedule: Schedule | null; gated: boolean }

/**
 * Cancels what is not taken yet and asks devices to stop what they have (`job:cancel`). Throws 404, 402, 409
 * `batch_final`.
 */
export async function cancelBatch(ctx: FleetContext, organizationId: string, batchId: string): Promise<Batch> {
  await changeBatch(ctx, organizationId, batchId, 'job:cancel', 'job_batch.cancelled', () => 'cancelled')
  await cancelRest(ctx.pool, organizationId, batchId, changeBy(ctx))
  return reread(ctx, organizationId, batchId)
}

/** Stops handing out jobs of the batch (`job:cancel`). Throws 404, 402, 409 `batch_final`. */
export async function pauseBatch(ctx: FleetContext, organizationId: string, batchId: string): Promise<Batch> {
  await changeBatch(ctx, organizationId, batchId, 'job:cancel', 'job_batch.paused', () => 'paused')
  return reread(ctx, organizationId, batchId)
}

/** Goes on with a paused batch (`job:create`). Throws 404, 402, 409 `batch_final`. */
export async function resumeBatch(ctx: FleetContext, organizationId: string, batchId: string): Promise<Batch> {
  const resumed = ({ status, schedule }: FoundBatch): BatchStatus => {
    if (status !== 'paused') return status
    return scheduleAt(schedule, ctx.clock()).started ? 'running' : 'scheduled'
  }
  await changeBatch(ctx, organizationId, batchId, 'job:create', 'job_batch.resumed', resumed)
  return reread(ctx, organizationId, batchId)
}

/**
 * Queues the batch's jobs that ended without success once more (`job:create`). Throws 404, 402, and 409
 * `nothing_to_retry`.
 */
export async function retryBatch(ctx: FleetContext, organizationId: string, batchId: string): Promise<Batch> {
  await authorizeObject(ctx, organizationId, 'job:create', 'job batch', batchId)
  let retried = 0
  for (;;) {
    const count = await jobTransaction(ctx.pool, organizationId, async (connection) => {
      const batch = await findBatch(connection, organizationId, batchId)
      await requireActiveSubscription(ctx, connection, organizationId)
      const jobs = await lockJobs(
        connection,
        `SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
           JOIN device d ON d.organization_id = j.organization_id AND d.id = j.device_id AND d.status <> 'disabled'
         WHERE b.id = $1 AND j.status IN ('failed', 'timedOut', 'cancelled', 'expired', 'rejected')
         ORDER BY j.id LIMIT ${chunkSize}`,
        [batchId],
      )
      await changeJobs(connection, jobs, retryOf(ctx), changeBy(ctx))
      if (batch.gated) await holdJobs(connection, jobs, 'rollout')
      if (retried === 0 && jobs.length > 0) {
        await auditBatch(ctx, connection, organizationId, batchId, 'job_batch.retried')
      }
      return jobs.length
    })
    retried += count
    if (count < chunkSize) break
  }
  if (retried === 0) throw conflict('nothing_to_retry', 'No job of this batch has ended without success.')
  return reread(ctx, organizationId, batchId)
}

/**
 * Cancels all open jobs of a batch that is cancelled already. Interrupted in the middle, it can simply be called again.
 */
async function cancelRest(pool: Pool, organizationId: string, batchId: string, change: ChangeBy): Promise<void> {
  while ((await cancelSome(pool, organizationId, batchId, change)) === chunkSize);
}

/** Cancels some of the open jobs of a batch that is cancelled already, and returns how many. */
export function cancelSome(pool: Pool, organizationId: string, batchId: string, change: ChangeBy): Promise<number> {
  return jobTransaction(pool, organizationId, async (connection) => {
    const jobs = await lockJobs(
      connection,
      `SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
       WHERE b.id = $1 AND (j.status IN ('queued', 'dispatched') OR j.status = 'inProgress' AND NOT j.cancel_requested)
       ORDER BY j.id LIMIT ${chunkSize}`,
      [batchId],
    )
    await changeJobs(connection, jobs, () => ({ type: 'cancel' }), change)
    return jobs.length
  })
}

async function changeBatch(
  ctx: FleetContext,
  organizationId: string,
  batchId: string,
  scope: Scope,
  action: string,
  nextStatus: (batch: FoundBatch) => BatchStatus,
): Promise<void> {
  await authorizeObject(ctx, organizationId, scope, 'job batch', batchId)
  await jobTransaction(ctx.pool, organizationId, async (connection) => {
    const batch = await findBatch(connection, organizationId, batchId, 'FOR UPDATE')
    await requireActiveSubscription(ctx, connection, organizationId)
    if (batch.status === 'finished' || batch.status === 'cancelled') {
      throw conflict('batch_final', `The batch has ended: ${batch.status}.`)
    }
    const status = nextStatus(batch)
    if (status === batch.status) return
    await connection.query('UPDATE job_batch SET status = $3 WHERE organization_id = $1 AND id = $2', [
      organizationId,
      batchId,
      status,
    ])
    await auditBatch(ctx, connection, organizationId, batchId, action)
    await wakeWorker(connection)
    if (status === 'running') await wakeWaitingDevices(connection)
  })
}

async function findBatch(
  connection: Connection,
  organizationId: string,
  batchId: string,
  lock: 'FOR UPDATE' | '' = '',
): Promise<FoundBatch> {
  const { rows } = isUuid(batchId)
    ? await connection.query<FoundBatch>(
        `SELECT status, schedule, schedule IS NOT NULL OR rollout IS NOT NULL AS gated
         FROM job_batch WHERE organization_id = $1 AND id = $2 ${lock}`,
        [organizationId, batchId],
      )
    : { rows: [] }
  if (!rows[0]) throw notFound('job batch', batchId)
  return rows[0]
}

const reread = (ctx: FleetContext, organizationId: string, batchId: string): Promise<Batch> =>
  jobTransaction(ctx.pool, organizationId, (connection) => readBatch(connection, organizationId, batchId))

const auditBatch = (
  ctx: FleetContext,
  connection: Connection,
  organizationId: string,
  batchId: string,
  action: string,
) =>
  recordAudit(connection, [
    {
      organizationId,
      actor: ctx.principal.id,
      action,
      subjectType: 'job_batch',
      subjectId: batchId,
      requestId: ctx.requestId,
    },
  ])
