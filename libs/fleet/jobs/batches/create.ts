import { timeOfId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditObject } from '#fleet/audit/record'
import { type VariableParameters, variableCtes, variablesReasonSql } from '#fleet/config-profiles/variables/resolve'
import type { StoredVariables } from '#fleet/config-profiles/variables/snapshot'
import type { FleetContext } from '#fleet/context'
import { type Matching, matchingDevices } from '#fleet/devices/matching'
import { unknownDevices } from '#fleet/devices/require-devices'
import { publishEvents } from '#fleet/events/publish'
import { readFirmwareContent } from '#fleet/firmware/read'
import { findEffectiveGroup, isEffectiveMemberSql } from '#fleet/groups/effective-members'
import { type BatchPlan, planOf } from '#fleet/jobs/batches/plan'
import { type Batch, type BatchTarget, readBatch } from '#fleet/jobs/batches/read'
import { batchJobId, batchJobIdSql, newBatchId } from '#fleet/jobs/model/batch-ids'
import { type JobDelivery, type NewJobDelivery, requireDelivery } from '#fleet/jobs/model/good-moment'
import { type JobKind, policyOf } from '#fleet/jobs/model/kinds'
import { expiryMs, requireRepresentable } from '#fleet/jobs/model/lifetime'
import { earliestReleases, requireInTime } from '#fleet/jobs/model/releases'
import type { Rollout } from '#fleet/jobs/model/rollout'
import { deliverableFrom, type Schedule, scheduleAt } from '#fleet/jobs/model/schedule'
import { wakeWorker } from '#fleet/jobs/notices'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntities, queryEntity } from '#postgres/entities'
import { type Connection, undone } from '#postgres/pool'

/** `variables` is null for settings that use none. */
type PinnedProfile = {
  id: string
  name: string
  version: number
  model: string | null
  variables: VariableParameters | null
}

type BatchInput = {
  organizationId: string
  kind: JobKind
  target: BatchTarget
  parameters?: Record<string, unknown> | undefined
  /** An image of the catalogue, instead of `parameters`. Devices of models that it does not support are skipped. */
  firmwareImageId?: string | undefined
  /** The profile version that `apply_config` applies. A profile for one model skips devices of other models. */
  profile?: PinnedProfile | undefined
  schedule?: Schedule | undefined
  rollout?: Rollout | undefined
  expiresInSeconds?: number | undefined
  delivery?: NewJobDelivery | undefined
}

/**
 * Creates one job for every device of the target, in one transaction with the batch and its audit row (`job:create`;
 * `config:apply` for apply_config). Devices that cannot run the job are listed in `skipped` with a reason. Throws 404 that
 * names an unknown group or device, 400 for a start or a delivery at the wrong time, 402, and 409 `limit_reached`.
 */
export const createBatch = (ctx: FleetContext, input: BatchInput): Promise<Batch> =>
  inBatchTransaction(ctx, input, async (connection, contents) => {
    const { organizationId } = input
    const batch = await insertBatch(ctx, connection, input, contents, insertJobs)
    const detail = {
      kind: batch.kind,
      total: batch.total,
      skipped: batch.skipped.length,
      ...('groupId' in input.target ? { groupId: input.target.groupId } : {}),
      ...('filter' in input.target ? { filter: input.target.filter } : {}),
      ...(batch.profile ? { profile: batch.profile } : {}),
    }
    await auditObject(ctx, connection, 'job_batch.created', { organizationId, id: batch.id }, detail)
    if (batch.status === 'finished') await publishEmptyBatchEnd(connection, organizationId, batch)
    else {
      await wakeWorker(connection)
      await requireWithinLimit(ctx, connection, { organizationId, limit: 'openBatches' })
    }
    return batch
  })

/** Returns what `createBatch` would create, and creates nothing. Requires the same scopes and throws the same errors. */
export const planBatch = async (ctx: FleetContext, input: BatchInput): Promise<BatchPlan> =>
  (await planJobs(ctx, input, { after: undefined, limit: 0 }, async () => undefined)).plan

/** A device that would get a job, with the values of its variables as the job would store them. */
export type PlannedJob = { deviceId: string; name: string; variables: StoredVariables | null }

/** Devices behind `after`, in the order of their ids. */
type PlannedPage = { after: string | undefined; limit: number }

/** Like `planBatch`, with the result of `work` on some of the jobs. */
export const planJobs = <Result>(
  ctx: FleetContext,
  input: BatchInput,
  page: PlannedPage,
  work: (connection: Connection, jobs: readonly PlannedJob[]) => Promise<Result>,
): Promise<{ plan: BatchPlan; result: Result }> =>
  inBatchTransaction(ctx, input, async (connection, contents) => {
    const { organizationId } = input
    const counted = await countJobs(connection, input, contents, page)
    const batch = await undone(connection, async () => {
      const inserted = await insertBatch(ctx, connection, input, contents, async () => counted)
      if (inserted.total > 0) await requireWithinLimit(ctx, connection, { organizationId, limit: 'openBatches' })
      return inserted
    })
    return { plan: planOf(batch, ctx.clock()), result: await work(connection, counted.jobs) }
  })

/** What a batch is for. */
type Contents = { members: Members; content: Content }

/** Runs `work` in a transaction of the organization, after the checks of the caller, the target and the subscription. */
async function inBatchTransaction<Result>(
  ctx: FleetContext,
  input: BatchInput,
  work: (connection: Connection, contents: Contents) => Promise<Result>,
): Promise<Result> {
  const { organizationId } = input
  const scope = input.kind === 'apply_config' ? 'config:apply' : 'job:create'
  if ('groupId' in input.target) await authorizeObject(ctx, organizationId, scope, 'group', input.target.groupId)
  else authorize(ctx.principal, organizationId, scope)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const members = await targetMembers(ctx, connection, input)
    await requireActiveSubscription(ctx, connection, organizationId)
    return work(connection, { members, content: await contentOf(connection, input) })
  })
}

/** What the jobs do, the models that can run them (null for any model), and the variables that they need. */
type Content = {
  parameters: Record<string, unknown>
  models: readonly string[] | null
  variables: VariableParameters | null
}

async function contentOf(
  connection: Connection,
  { organizationId, firmwareImageId, parameters = {}, profile }: BatchInput,
): Promise<Content> {
  if (firmwareImageId !== undefined) {
    const image = await readFirmwareContent(connection, { organizationId, imageId: firmwareImageId })
    return { ...image, variables: null }
  }
  return { parameters, models: profile?.model ? [profile.model] : null, variables: profile?.variables ?? null }
}

/** The condition that a device `d` of the organization belongs to the target, and the name of the target. */
type Members = Matching & { name: string | null }

async function targetMembers(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, target }: BatchInput,
): Promise<Members> {
  if ('groupId' in target) {
    const { groupId } = target
    const group = await findEffectiveGroup(ctx, connection, { organizationIds: [organizationId], groupId })
    const values = { groupId: group.id, smartTags: group.smartTags }
    return { condition: isEffectiveMemberSql, values, name: group.name }
  }
  if ('filter' in target) {
    return { ...(await matchingDevices(ctx, connection, { organizationId, ...target })), name: null }
  }
  const { rows } = await connection.query<{ id: string }>(
    `SELECT id FROM unnest($2::uuid[]) AS wanted (id)
     WHERE NOT EXISTS (SELECT FROM device d WHERE d.organization_id = $1 AND d.id = wanted.id) LIMIT 20`,
    [organizationId, target.deviceIds],
  )
  if (rows.length > 0) throw unknownDevices(rows.map(({ id }) => id))
  return { condition: 'd.id = ANY ($deviceIds::uuid[])', values: { deviceIds: target.deviceIds }, name: null }
}

async function insertBatch(
  ctx: FleetContext,
  connection: Connection,
  input: BatchInput,
  { members, content }: Contents,
  takeSnapshot: typeof insertJobs,
): Promise<Batch> {
  const { organizationId, rollout } = input
  const schedule = input.schedule ?? null
  const nowMs = ctx.clock()
  const batchId = newBatchId(nowMs)
  const lifetimeS = input.expiresInSeconds ?? policyOf(input.kind).lifetimeS
  const delivery = requireDelivery(input.delivery, schedule, nowMs)
  const decisions: Decisions = {
    batchId,
    createdAt: timeOfId(batchId),
    lifetimeS,
    delivery,
    expiresAt: requireRepresentable(
      expiryMs({ lifetimeS, schedule, delivery }, deliverableFrom(schedule, nowMs)),
      schedule?.startAt === undefined ? '/delivery/latestAt' : '/schedule/startAt',
    ),
    held: schedule !== null || Object.keys(rollout ?? {}).length > 0,
    open: scheduleAt(schedule, nowMs).open,
  }
  const snapshot = await takeSnapshot(ctx, connection, input, { members, content }, decisions)
  requireInTime(delivery, earliestReleases({ total: snapshot.total, schedule, rollout: rollout ?? {}, nowMs }))
  await insertBatchRow(
    ctx,
    connection,
    input,
    { ...snapshot, parameters: content.parameters, targetName: members.name },
    decisions,
  )
  return readBatch(connection, { organizationId, batchId })
}

/** The decisions made before any row is written. `held`: a rollout or schedule releases the jobs. `open`: it may start now. */
type Decisions = {
  batchId: string
  createdAt: Date
  lifetimeS: number
  delivery: JobDelivery | null
  expiresAt: Date
  held: boolean
  open: boolean
}
type Snapshot = { total: number; skipped: Batch['skipped'] }

const unableSql = `CASE WHEN d.status = 'disabled' THEN 'device_disabled'
  WHEN d.model <> ALL ($models::text[]) THEN 'model_mismatch'`

/**
 * CTE `member`: the devices of the target, each with the reason for which it is skipped, or null, with the values of its
 * variables, and with the names of those without a value.
 */
const memberCte = ({ condition }: Members, { variables }: Content): string =>
  variables === null
    ? `member AS MATERIALIZED (
         SELECT d.id, ${unableSql} END AS reason, NULL::jsonb AS variables, NULL::text[] AS missing
         FROM device d WHERE d.organization_id = $organizationId AND ${condition})`
    : `target AS MATERIALIZED (
         SELECT d.id, d.name, d.serial, d.model, d.tags, d.updated_at, d.status
         FROM device d WHERE d.organization_id = $organizationId AND ${condition}
       ), ${variableCtes('target')}, member AS MATERIALIZED (
         SELECT d.id, ${unableSql} ELSE ${variablesReasonSql} END AS reason, v.variables, v.missing
         FROM target d JOIN device_variables v ON v.id = d.id)`

const snapshotSql = `SELECT (SELECT count(*)::int FROM member WHERE reason IS NULL) AS total,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('deviceId', id, 'reason', reason)
     || CASE WHEN reason = 'missing_variable' THEN jsonb_build_object('variables', missing) ELSE '{}' END ORDER BY id), '[]')
   FROM member WHERE reason IS NOT NULL) AS skipped`

const memberValues = ({ values }: Members, { models, variables }: Content) => ({ ...values, models, ...variables })

/** Counts the jobs that `insertJobs` would insert, and reads a page of them. */
const countJobs = (
  connection: Connection,
  { organizationId }: BatchInput,
  { members, content }: Contents,
  { after, limit }: PlannedPage,
): Promise<Snapshot & { jobs: PlannedJob[] }> =>
  queryEntity(
    connection,
    `WITH ${memberCte(members, content)}, page AS (
       SELECT id, variables FROM member WHERE reason IS NULL AND ($after::uuid IS NULL OR id > $after::uuid)
       ORDER BY id LIMIT $limit
     )
     ${snapshotSql},
       (SELECT coalesce(jsonb_agg(jsonb_build_object('deviceId', p.id, 'name', d.name, 'variables', p.variables) ORDER BY p.id), '[]')
        FROM page p JOIN device d ON d.organization_id = $organizationId AND d.id = p.id) AS jobs`,
    { ...memberValues(members, content), organizationId, after: after ?? null, limit },
  )

async function insertJobs(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, kind }: BatchInput,
  { members, content }: Contents,
  { batchId, createdAt, lifetimeS, expiresAt, held }: Decisions,
): Promise<Snapshot> {
  const { exclusive, maxAttempts } = policyOf(kind)
  return queryEntity<Snapshot>(
    connection,
    `WITH ${memberCte(members, content)}, inserted AS (
       INSERT INTO job (id, organization_id, batch_id, device_id, kind, exclusive, status, max_attempts, lifetime_s,
         expires_at, hold, created_by, created_at, updated_at, variables)
       SELECT ${batchJobIdSql('$batchId::uuid', 'ordinal')}, $organizationId, $batchId::uuid, id, $kind, $exclusive, 'queued',
         $maxAttempts, $lifetimeS, $expiresAt, $hold, $createdBy, $createdAt, $createdAt, variables
       FROM (SELECT id, variables, row_number() OVER (ORDER BY id) AS ordinal FROM member WHERE reason IS NULL) numbered
     )
     ${snapshotSql}`,
    {
      ...memberValues(members, content),
      ...{ organizationId, kind, hold: held ? 'rollout' : 'fresh', createdBy: ctx.principal.id },
      ...{ batchId, createdAt, lifetimeS, expiresAt, exclusive, maxAttempts },
    },
  )
}

async function insertBatchRow(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, kind, target, profile, schedule, rollout }: BatchInput,
  { total, skipped, parameters, targetName }: Snapshot & Pick<Content, 'parameters'> & { targetName: string | null },
  { batchId, createdAt, delivery, expiresAt, held, open }: Decisions,
): Promise<void> {
  const status = total === 0 ? 'finished' : open ? 'running' : 'scheduled'
  await queryEntities(
    connection,
    `INSERT INTO job_batch (id, last_job_id, organization_id, kind, status, target, parameters, profile_id,
       profile_version, profile_name, target_name, schedule, rollout, delivery, expires_at, total, queued, held, fresh, skipped,
       window_open, created_by, created_at, finished_at, traceparent)
     VALUES ($batchId, $lastJobId, $organizationId, $kind, $status, $target, $parameters, $profileId,
       $profileVersion, $profileName, $targetName, $schedule, $rollout, $delivery, $expiresAt, $total, $total, $held, $fresh, $skipped,
       $open, $createdBy, $createdAt, $finishedAt, $traceparent)`,
    {
      ...{ batchId, organizationId, kind, status, parameters, targetName, schedule, rollout, delivery },
      target: 'filter' in target ? { filter: target.filter } : target,
      ...{ profileId: profile?.id, profileVersion: profile?.version, profileName: profile?.name },
      ...{ total, held: held ? total : 0, fresh: held ? 0 : total, skipped: JSON.stringify(skipped) },
      ...{ expiresAt, open, createdAt, finishedAt: total === 0 ? createdAt : null },
      ...{ lastJobId: batchJobId(batchId, total), createdBy: ctx.principal.id, traceparent: ctx.traceparent },
    },
  )
}

/** Publishes the end of a batch without jobs. Otherwise the end of its last job does so. */
const publishEmptyBatchEnd = (connection: Connection, organizationId: string, batch: Batch) =>
  publishEvents(connection, [
    {
      organizationId,
      type: 'job_batch.finished',
      payload: { batchId: batch.id, kind: batch.kind, status: 'finished', total: 0, counts: batch.counts },
    },
  ])
