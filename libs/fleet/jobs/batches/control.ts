import { conflict, notFound } from '#core/errors'
import type { Scope } from '#fleet/access/scopes'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import {
  type Batch,
  type BatchReference,
  type BatchStatus,
  batchAccess,
  jobOfBatchSql,
  readBatch,
} from '#fleet/jobs/batches/read'
import { holdJobs } from '#fleet/jobs/changes/holds'
import { lockJobs } from '#fleet/jobs/changes/locking'
import { type ChangeBy, changeJobs } from '#fleet/jobs/changes/state-change'
import { changeByCaller, requireDeliverable, retryOf } from '#fleet/jobs/device-job'
import type { JobDelivery } from '#fleet/jobs/model/good-moment'
import { deliverableFrom, type Schedule, scheduleAt } from '#fleet/jobs/model/schedule'
import { wakeAllDevices, wakeWorker } from '#fleet/jobs/notices'
import { requirePinnedProfile } from '#fleet/jobs/pinned-profiles'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { changeObject, withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** Jobs per transaction, so that the counters of the batch are not locked for long. */
const chunkSize = 2_000

type FoundBatch = { status: BatchStatus; schedule: Schedule | null; delivery: JobDelivery | null; gated: boolean }

/**
 * Cancels the batch's jobs that no device has taken, and requests the cancellation of the others (`job:cancel`). Throws
 * 404, 402, 409 `batch_final`.
 */
export async function cancelBatch(ctx: FleetContext, batch: BatchReference): Promise<Batch> {
  await changeBatch(ctx, batch, { scope: 'job:cancel', action: 'job_batch.cancelled', nextStatus: () => 'cancelled' })
  while ((await cancelSomeJobs(ctx, batch, changeByCaller(ctx))) === chunkSize);
  return reread(ctx, batch)
}

/** Pauses a batch: devices take no more of its jobs (`job:cancel`). Throws 404, 402, 409 `batch_final`. */
export async function pauseBatch(ctx: FleetContext, batch: BatchReference): Promise<Batch> {
  await changeBatch(ctx, batch, { scope: 'job:cancel', action: 'job_batch.paused', nextStatus: () => 'paused' })
  return reread(ctx, batch)
}

/** Resumes a paused batch (`job:create`). Throws 404, 402, and 409 `batch_final` or `profile_gone`. */
export async function resumeBatch(ctx: FleetContext, batch: BatchReference): Promise<Batch> {
  const nextStatus = ({ status, schedule }: FoundBatch): BatchStatus => {
    if (status !== 'paused') return status
    return scheduleAt(schedule, ctx.clock()).started ? 'running' : 'scheduled'
  }
  const check = (connection: Connection) => requirePinnedProfile(connection, batch)
  await changeBatch(ctx, batch, { scope: 'job:create', action: 'job_batch.resumed', nextStatus, check })
  return reread(ctx, batch)
}

/**
 * Retries the batch's jobs that ended without success, except on disabled devices (`job:create`). Throws 404, 402, and 409
 * `nothing_to_retry`, `delivery_over` or `profile_gone`.
 */
export async function retryBatch(ctx: FleetContext, batch: BatchReference): Promise<Batch> {
  const { organizationId, batchId } = batch
  let retried = 0
  for (;;) {
    const count = await withObject(ctx, batchAccess(batch, 'job:create'), async (connection) => {
      const { gated, ...found } = await findBatch(connection, batch)
      await requireActiveSubscription(ctx, connection, organizationId)
      requireDeliverable(found, ctx.clock())
      const jobs = await lockJobs(
        connection,
        `SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
           JOIN device d ON d.organization_id = j.organization_id AND d.id = j.device_id AND d.status <> 'disabled'
         WHERE b.id = $1 AND j.status IN ('failed', 'timedOut', 'cancelled', 'expired', 'rejected')
         ORDER BY j.id LIMIT ${chunkSize}`,
        [batchId],
      )
      if (jobs.length > 0) await requirePinnedProfile(connection, batch)
      await changeJobs(connection, jobs, retryOf(ctx), changeByCaller(ctx))
      if (gated) await holdJobs(connection, jobs, 'rollout')
      if (gated && jobs.length > 0) await (retried === 0 ? restartStages : settleFewer)(connection, batch, ctx.clock())
      if (retried === 0 && jobs.length > 0)
        await auditObject(ctx, connection, 'job_batch.retried', { organizationId, id: batchId })
      return jobs.length
    })
    retried += count
    if (count < chunkSize) break
  }
  if (retried === 0)
    throw conflict(
      'nothing_to_retry',
      'The batch has no job to retry: none ended without success on an enabled device.',
    )
  return reread(ctx, batch)
}

/** Cancels up to 2,000 open jobs of a cancelled batch, whose rollout may have been aborted. Returns how many. */
export function cancelSomeJobs(
  ctx: Pick<FleetContext, 'pool'>,
  { organizationId, batchId }: BatchReference,
  { isAborted = false, ...change }: ChangeBy & { isAborted?: boolean },
): Promise<number> {
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const jobs = await lockJobs(
      connection,
      `SELECT j.id FROM job_batch b JOIN job j ON ${jobOfBatchSql}
       WHERE b.id = $1 AND (j.status IN ('queued', 'dispatched') OR j.status = 'inProgress' AND NOT j.cancel_requested)
       ORDER BY j.id LIMIT ${chunkSize}`,
      [batchId],
    )
    await changeJobs(connection, jobs, () => ({ type: 'cancel', isAborted }), change)
    return jobs.length
  })
}

/** The scope that a change requires, its audit action, the status that follows the present one, and what else must hold. */
type BatchChange = {
  scope: Scope
  action: string
  nextStatus: (batch: FoundBatch) => BatchStatus
  check?: (connection: Connection) => Promise<void>
}

function changeBatch(
  ctx: FleetContext,
  batch: BatchReference,
  { scope, action, nextStatus, check }: BatchChange,
): Promise<void> {
  const object = batchAccess(batch, scope)
  return changeObject(ctx, object, async (connection) => {
    const found = await findBatch(connection, batch)
    if (found.status === 'finished' || found.status === 'cancelled') {
      throw conflict('batch_final', `The batch has already ended: ${found.status}.`)
    }
    const status = nextStatus(found)
    if (status === found.status) return
    await check?.(connection)
    await connection.query(
      `UPDATE job_batch SET status = $3, ${found.status === 'paused' ? continueSql : "pause_reason = 'operator'"},
         deliverable_from = CASE WHEN status = 'paused' THEN $4::timestamptz ELSE deliverable_from END
       WHERE organization_id = $1 AND id = $2`,
      [batch.organizationId, batch.batchId, status, new Date(deliverableFrom(found.schedule, ctx.clock()))],
    )
    await auditObject(ctx, connection, action, object)
    await wakeWorker(connection)
    if (status === 'running') await wakeAllDevices(connection)
  })
}

/** Confirms the stages that have run, and accepts the failures so far. The worker looks anew when jobs expire. */
const continueSql = `pause_reason = NULL, expires_at = NULL, accepted_failures = failed + timed_out + rejected - settled_failures,
  confirmed_stages = CASE WHEN pause_reason = 'stage' THEN jsonb_array_length(stage_times) ELSE confirmed_stages END`

/** Makes the stages of a batch start again, because some of its jobs do. What has failed and is not retried counts no more. */
const restartStages = (connection: Connection, { organizationId, batchId }: BatchReference, nowMs: number) =>
  connection.query(
    `UPDATE job_batch SET stage_times = '[]', confirmed_stages = 0, accepted_failures = 0, is_out_of_order = true,
       settled_failures = failed + timed_out + rejected, settled_at = $3
     WHERE organization_id = $1 AND id = $2`,
    [organizationId, batchId, new Date(nowMs)],
  )

/** After more jobs of a batch were retried. */
const settleFewer = (connection: Connection, { organizationId, batchId }: BatchReference) =>
  connection.query(
    `UPDATE job_batch SET settled_failures = least(settled_failures, failed + timed_out + rejected)
     WHERE organization_id = $1 AND id = $2`,
    [organizationId, batchId],
  )

async function findBatch(connection: Connection, batch: BatchReference): Promise<FoundBatch> {
  const [found] = await queryEntities<FoundBatch>(
    connection,
    `SELECT status, schedule, delivery, schedule IS NOT NULL OR rollout IS NOT NULL AS gated
     FROM job_batch WHERE organization_id = $organizationId AND id = $batchId`,
    batch,
  )
  if (!found) throw notFound('job batch', batch.batchId)
  return found
}

const reread = (ctx: FleetContext, batch: BatchReference): Promise<Batch> =>
  tenantTransaction(ctx, [batch.organizationId], (connection) => readBatch(connection, batch))
