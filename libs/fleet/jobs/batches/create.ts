import { timeOfId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { matchingDevices } from '#fleet/devices/matching'
import { unknownDevices } from '#fleet/devices/require-devices'
import { publishEvents } from '#fleet/events/publish'
import { readFirmwareContent } from '#fleet/firmware/read'
import { findEffectiveGroup, isEffectiveMemberSql } from '#fleet/groups/effective-members'
import { type Batch, type BatchTarget, readBatch } from '#fleet/jobs/batches/read'
import { batchJobId, batchJobIdSql, newBatchId } from '#fleet/jobs/model/batch-ids'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import type { Rollout } from '#fleet/jobs/model/rollout'
import { type Schedule, scheduleAt } from '#fleet/jobs/model/schedule'
import { wakeWorker } from '#fleet/jobs/notices'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

type BatchInput = {
  organizationId: string
  kind: JobKind
  target: BatchTarget
  parameters?: Record<string, unknown> | undefined
  /** An image of the catalogue, instead of `parameters`. Devices of models that it does not support are skipped. */
  firmwareImageId?: string | undefined
  /** The profile version that `apply_config` applies. A profile for one model skips devices of other models. */
  profile?: { id: string; name: string; version: number; model: string | null } | undefined
  schedule?: Schedule | undefined
  rollout?: Rollout | undefined
  expiresInSeconds?: number | undefined
}

/**
 * Creates one job for every device of the target, in one transaction with the batch and its audit row (`job:create`;
 * `config:apply` for apply_config). Devices that cannot run the job are listed in `skipped` with a reason. Throws 404 that
 * names an unknown group or device, 402, and 409 `limit_reached`.
 */
export async function createBatch(ctx: FleetContext, input: BatchInput): Promise<Batch> {
  const { organizationId } = input
  const scope = input.kind === 'apply_config' ? 'config:apply' : 'job:create'
  if ('groupId' in input.target) await authorizeObject(ctx, organizationId, scope, 'group', input.target.groupId)
  else authorize(ctx.principal, organizationId, scope)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const members = await targetMembers(ctx, connection, input)
    await requireActiveSubscription(ctx, connection, organizationId)
    const content = await contentOf(connection, input)
    const batch = await insertBatch(ctx, connection, input, { members, content })
    await auditCaller(ctx, connection, {
      organizationId,
      action: 'job_batch.created',
      subjectType: 'job_batch',
      subjectId: batch.id,
      detail: {
        kind: batch.kind,
        total: batch.total,
        skipped: batch.skipped.length,
        ...('groupId' in input.target ? { groupId: input.target.groupId } : {}),
        ...('filter' in input.target ? { filter: input.target.filter } : {}),
        ...(batch.profile ? { profile: batch.profile } : {}),
      },
    })
    if (batch.status === 'finished') await publishEmptyBatchEnd(connection, organizationId, batch)
    else {
      await wakeWorker(connection)
      await requireWithinLimit(ctx, connection, { organizationId, limit: 'openBatches' })
    }
    return batch
  })
}

/** What the jobs do, and the models that can run them; null for any model. */
type Content = { parameters: Record<string, unknown>; models: readonly string[] | null }

async function contentOf(
  connection: Connection,
  { organizationId, firmwareImageId, parameters = {}, profile }: BatchInput,
): Promise<Content> {
  if (firmwareImageId !== undefined)
    return readFirmwareContent(connection, { organizationId, imageId: firmwareImageId })
  return { parameters, models: profile?.model ? [profile.model] : null }
}

/** SQL condition that a device `d` belongs to the target, with its parameters from $2 on; $1 is the organization. */
type Members = { condition: string; values: unknown[]; name: string | null }

async function targetMembers(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, target }: BatchInput,
): Promise<Members> {
  if ('groupId' in target) {
    const { groupId } = target
    const group = await findEffectiveGroup(ctx, connection, { organizationIds: [organizationId], groupId })
    const condition = isEffectiveMemberSql('$1', '$2', '$3::text[]')
    return { condition, values: [group.id, group.smartTags], name: group.name }
  }
  if ('filter' in target) {
    return {
      ...(await matchingDevices(ctx, connection, { organizationId, filter: target.filter, first: 2 })),
      name: null,
    }
  }
  const { rows } = await connection.query<{ id: string }>(
    `SELECT id FROM unnest($2::uuid[]) AS wanted (id)
     WHERE NOT EXISTS (SELECT FROM device d WHERE d.organization_id = $1 AND d.id = wanted.id) LIMIT 20`,
    [organizationId, target.deviceIds],
  )
  if (rows.length > 0) throw unknownDevices(rows.map(({ id }) => id))
  return { condition: 'd.id = ANY ($2::uuid[])', values: [target.deviceIds], name: null }
}

async function insertBatch(
  ctx: FleetContext,
  connection: Connection,
  input: BatchInput,
  { members, content }: { members: Members; content: Content },
): Promise<Batch> {
  const { organizationId, schedule, rollout } = input
  const nowMs = ctx.clock()
  const batchId = newBatchId(nowMs)
  const lifetimeS = input.expiresInSeconds ?? policyOf(input.kind).lifetimeS
  const startMs = Math.max(nowMs, schedule?.startAt === undefined ? 0 : Date.parse(schedule.startAt))
  const plan: BatchPlan = {
    batchId,
    createdAt: timeOfId(batchId),
    lifetimeS,
    expiresAt: new Date(startMs + lifetimeS * 1_000),
    held: schedule !== undefined || Object.keys(rollout ?? {}).length > 0,
    open: scheduleAt(schedule ?? null, nowMs).open,
  }
  const snapshot = await insertJobs(ctx, connection, input, { members, models: content.models }, plan)
  await insertBatchRow(
    ctx,
    connection,
    input,
    { ...snapshot, parameters: content.parameters, targetName: members.name },
    plan,
  )
  return readBatch(connection, organizationId, batchId)
}

/** The decisions made before any row is written. `held`: a rollout or schedule releases the jobs. `open`: it may start now. */
type BatchPlan = { batchId: string; createdAt: Date; lifetimeS: number; expiresAt: Date; held: boolean; open: boolean }
type Snapshot = { total: number; skipped: Batch['skipped'] }

async function insertJobs(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, kind }: BatchInput,
  { members, models }: { members: Members; models: Content['models'] },
  plan: BatchPlan,
): Promise<Snapshot> {
  const policy = policyOf(kind)
  const first = members.values.length + 2
  const [supported, batch, jobKind, exclusive, maxAttempts, lifetime, expiresAt, hold, createdBy, now] = Array.from(
    { length: 10 },
    (_, index) => `$${first + index}`,
  )
  const { rows } = await connection.query<Snapshot>(
    `WITH member AS MATERIALIZED (
       SELECT d.id, CASE WHEN d.status = 'disabled' THEN 'device_disabled'
                         WHEN d.model <> ALL (${supported}::text[]) THEN 'model_mismatch' END AS reason
       FROM device d WHERE d.organization_id = $1 AND ${members.condition}
     ), inserted AS (
       INSERT INTO job (id, organization_id, batch_id, device_id, kind, exclusive, status, max_attempts, lifetime_s,
         expires_at, hold, created_by, created_at, updated_at)
       SELECT ${batchJobIdSql(`${batch}::uuid`, 'ordinal')}, $1, ${batch}::uuid, id, ${jobKind}, ${exclusive}, 'queued',
         ${maxAttempts}, ${lifetime}, ${expiresAt}, ${hold}, ${createdBy}, ${now}, ${now}
       FROM (SELECT id, row_number() OVER (ORDER BY id) AS ordinal FROM member WHERE reason IS NULL) numbered
     )
     SELECT (SELECT count(*)::int FROM member WHERE reason IS NULL) AS total,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('deviceId', id, 'reason', reason) ORDER BY id), '[]')
        FROM member WHERE reason IS NOT NULL) AS skipped`,
    [
      organizationId,
      ...members.values,
      models,
      plan.batchId,
      kind,
      policy.exclusive,
      policy.maxAttempts,
      plan.lifetimeS,
      plan.expiresAt,
      plan.held ? 'rollout' : 'fresh',
      ctx.principal.id,
      plan.createdAt,
    ],
  )
  return rows[0] ?? { total: 0, skipped: [] }
}

async function insertBatchRow(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, kind, target, profile, schedule, rollout }: BatchInput,
  { total, skipped, parameters, targetName }: Snapshot & Pick<Content, 'parameters'> & { targetName: string | null },
  plan: BatchPlan,
): Promise<void> {
  const status = total === 0 ? 'finished' : plan.open ? 'running' : 'scheduled'
  await connection.query(
    `INSERT INTO job_batch (id, last_job_id, organization_id, kind, status, target, parameters, profile_id,
       profile_version, profile_name, target_name, schedule, rollout, expires_at, total, queued, held, fresh, skipped,
       window_open, created_by, created_at, finished_at, traceparent)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
    [
      plan.batchId,
      batchJobId(plan.batchId, total),
      organizationId,
      kind,
      status,
      JSON.stringify(target),
      JSON.stringify(parameters),
      profile?.id ?? null,
      profile?.version ?? null,
      profile?.name ?? null,
      targetName,
      schedule ? JSON.stringify(schedule) : null,
      rollout ? JSON.stringify(rollout) : null,
      plan.expiresAt,
      total,
      plan.held ? total : 0,
      plan.held ? 0 : total,
      JSON.stringify(skipped),
      plan.open,
      ctx.principal.id,
      plan.createdAt,
      total === 0 ? plan.createdAt : null,
      ctx.traceparent ?? null,
    ],
  )
}

/** Publishes the end of a batch without jobs. Otherwise the end of its last job does so. */
const publishEmptyBatchEnd = (connection: Connection, organizationId: string, batch: Batch) =>
  publishEvents(connection, [
    {
      organizationId,
      type: 'job_batch.finished',
      payload: { batchId: batch.id, kind: batch.kind, status: batch.status, total: 0, counts: batch.counts },
    },
  ])
