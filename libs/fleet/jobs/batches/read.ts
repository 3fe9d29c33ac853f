import { z } from 'zod'
import { notFound } from '#core/errors'
import { instantOut, uuid } from '#core/schemas'
import { authorize } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { actorNameSql } from '#fleet/audit/actor-names'
import { configStates } from '#fleet/config-profiles/config-state'
import type { FleetContext } from '#fleet/context'
import { modemConditions } from '#fleet/devices/live-filter'
import type { DeviceFilter, FoundFilter } from '#fleet/devices/matching'
import { deviceStatuses } from '#fleet/devices/status'
import { stageRanges } from '#fleet/jobs/model/batch-ids'
import { deliveryOut, type HeldReason, heldReasonSql, heldReasons, momentOfJobSql } from '#fleet/jobs/model/good-moment'
import { jobKinds, redactParameters } from '#fleet/jobs/model/kinds'
import { isHeldBackSql } from '#fleet/jobs/model/lifetime'
import { rolloutSchema } from '#fleet/jobs/model/rollout'
import { scheduleSchema } from '#fleet/jobs/model/schedule'
import { type StageTimes, stageStatuses, stagesOf } from '#fleet/jobs/model/stages'
import { type JobStatus, jobStatuses } from '#fleet/jobs/model/states'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

const batchStatuses = ['scheduled', 'running', 'paused', 'finished', 'cancelled'] as const
export type BatchStatus = (typeof batchStatuses)[number]

/** The devices that matched when the batch was created. */
const filterOut = z
  .object({
    status: z.enum(deviceStatuses),
    q: z.string(),
    tag: z.array(z.string()),
    placeId: uuid(),
    configState: z.enum(configStates),
    groupId: uuid(),
    firmware: z.string(),
    bbox: z.array(z.number()),
    seenWithinMinutes: z.int(),
    silentForMinutes: z.int(),
    signal: z.array(z.string()),
    rat: z.string(),
    plmn: z.string(),
    modems: z.enum(modemConditions),
    near: z.string(),
    minTodayBytes: z.int(),
    minMonthBytes: z.int(),
  } satisfies Record<keyof DeviceFilter, z.ZodType>)
  .partial()

const stageSchema = z.object({
  devices: z.int(),
  status: z.enum(stageStatuses),
  startedAt: instantOut().nullable(),
  endedAt: instantOut().nullable(),
})

export const batchSummarySchema = z
  .object({
    id: uuid(),
    kind: z.enum(jobKinds),
    status: z.enum(batchStatuses),
    pauseReason: z
      .enum(['operator', 'failures', 'stage'])
      .nullable()
      .describe('Why the batch is paused. `stage`: it waits for an operator after a stage (`rollout.confirmStages`).'),
    target: z.union([
      z.object({ groupId: uuid() }),
      z
        .object({ deviceCount: z.int(), deviceId: uuid().nullable() })
        .describe('The number of devices, and the device if it is one. `GET …/job-batches/{id}` has all ids.'),
      z.object({ filter: filterOut }),
    ]),
    targetName: z.string().nullable().describe('The name of the group at the time of creation; null for devices.'),
    profile: z
      .object({ id: uuid(), version: z.int(), name: z.string().nullable() })
      .nullable()
      .describe('The profile that an `apply_config` batch applies, with its name at the time of creation.'),
    parameters: z.record(z.string(), z.unknown()).describe('Redacted: a download URL has no query.'),
    schedule: scheduleSchema.nullable(),
    rollout: rolloutSchema.nullable(),
    delivery: deliveryOut.nullable().describe('The good moment that the jobs wait for; null: they do not wait.'),
    stages: z.array(stageSchema).describe('The stages of the rollout; empty without `canary` and `stages`.'),
    total: z.int().describe('Number of jobs, without skipped devices.'),
    counts: z.record(z.enum(jobStatuses), z.int()),
    createdBy: z.string().describe('`key:…`, `person:…` or `user:…`.'),
    createdByName: z.string().nullable().describe('The name of the person, user or API key; null for others.'),
    jobsUrl: z.string().describe('URL of the list of all jobs in the batch.'),
    createdAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'JobBatchSummary' })

export const batchSchema = batchSummarySchema
  .extend({
    target: z.union([
      z.object({ groupId: uuid() }),
      z.object({ deviceIds: z.array(uuid()) }),
      z.object({ filter: filterOut }),
    ]),
    stages: z.array(stageSchema.extend({ counts: z.partialRecord(z.enum(jobStatuses), z.int()) })),
    held: z.int().describe('Dispatched jobs that wait for a good moment of their device.'),
    heldReasons: z.record(z.enum(heldReasons), z.int()).describe('The same by what is missing.'),
    skipped: z.array(
      z.object({
        deviceId: uuid(),
        reason: z.string().describe('`device_disabled`, `model_mismatch`, `missing_variable` or `settings_too_large`.'),
        variables: z.array(z.string()).optional().describe('The variables without a value, for `missing_variable`.'),
      }),
    ),
    jobs: z
      .array(z.object({ id: uuid(), deviceId: uuid(), status: z.enum(jobStatuses) }))
      .describe('The first 1,000 jobs, one for each device.'),
  })
  .meta({ id: 'JobBatch' })

/** A batch in a list. */
type BatchSummary = z.infer<typeof batchSummarySchema>

export type Batch = z.infer<typeof batchSchema>

/** A filter stands for the devices that match it when the batch is created. */
export type BatchTarget = { groupId: string } | { deviceIds: string[] } | FoundFilter

export type BatchReference = { organizationId: string; batchId: string }

export const batchAccess = ({ organizationId, batchId }: BatchReference, scope: Scope) =>
  ({ scope, noun: 'job batch', organizationId, id: batchId }) as const

/** The target in a list: instead of up to 10,000 ids, their number, and the device if it is one. */
const listedTarget = `CASE WHEN b.target ? 'deviceIds' THEN jsonb_build_object(
    'deviceCount', jsonb_array_length(b.target -> 'deviceIds'),
    'deviceId', CASE WHEN jsonb_array_length(b.target -> 'deviceIds') = 1 THEN b.target -> 'deviceIds' -> 0 END)
  ELSE b.target END AS target`

/** The columns of a batch, but for its target. `withStages` replaces `stageTimes` with the stages. */
const columns = `b.id, b.kind, b.status,
  CASE WHEN b.status = 'paused' THEN coalesce(b.pause_reason, 'operator') END AS "pauseReason", b.target_name AS "targetName",
  CASE WHEN b.profile_id IS NOT NULL AND b.profile_version IS NOT NULL
    THEN json_build_object('id', b.profile_id, 'version', b.profile_version, 'name', b.profile_name) END AS profile,
  b.parameters, b.schedule, b.rollout, b.delivery, b.stage_times AS "stageTimes", b.total,
  json_build_object('queued', b.queued, 'dispatched', b.dispatched, 'inProgress', b.in_progress, 'succeeded', b.succeeded,
    'failed', b.failed, 'timedOut', b.timed_out, 'cancelled', b.cancelled, 'expired', b.expired, 'rejected', b.rejected) AS counts,
  '/orgs/' || b.organization_id || '/jobs?batchId=' || b.id AS "jobsUrl", b.created_by AS "createdBy",
  ${actorNameSql('b.organization_id', 'b.created_by')} AS "createdByName",
  b.created_at AS "createdAt", b.finished_at AS "finishedAt"`

type WithStageTimes<Entity> = Omit<Entity, 'stages'> & { stageTimes: StageTimes[] }

/** Adds the stages of a batch, and redacts its parameters. */
const withStages = <Entity extends Omit<BatchSummary, 'stages' | 'target'>>({
  stageTimes: times,
  ...batch
}: Entity & { stageTimes: StageTimes[] }) => ({
  ...batch,
  parameters: redactParameters(batch.parameters),
  stages: stagesOf(batch.rollout ?? {}, { ...batch, times }),
})

/** SQL condition: job `j` belongs to batch `b`. Uses the range of ids that follow the id of the batch. */
export const jobOfBatchSql =
  'j.organization_id = b.organization_id AND j.id > b.id AND j.id <= b.last_job_id AND j.batch_id = b.id'

const maxListedJobs = 1_000

/** A batch with its first jobs, in the caller's transaction. Throws 404. */
export async function readBatch(db: Queryable, reference: BatchReference): Promise<Batch> {
  const [found] = await queryEntities<Omit<WithStageTimes<Batch>, 'jobs' | 'held' | 'heldReasons'>>(
    db,
    `SELECT ${columns}, b.target, b.skipped FROM job_batch b WHERE b.organization_id = $organizationId AND b.id = $batchId`,
    reference,
  )
  if (!found) throw notFound('job batch', reference.batchId)
  const jobs = await queryEntities<Batch['jobs'][number]>(
    db,
    `SELECT j.id, j.device_id AS "deviceId", j.status FROM job_batch b JOIN job j ON ${jobOfBatchSql}
     WHERE b.organization_id = $organizationId AND b.id = $batchId ORDER BY j.id LIMIT ${maxListedJobs}`,
    reference,
  )
  const batch = withStages(found)
  const stages = await countStages(db, batch, reference.organizationId)
  return { ...batch, stages, ...(await countHeld(db, batch, reference.organizationId)), jobs }
}

/** Counts the jobs in mailboxes whose devices may not take them yet, because they have no good moment. A paused batch has none. */
async function countHeld(
  db: Queryable,
  { id, delivery }: Pick<BatchSummary, 'id' | 'delivery'>,
  organizationId: string,
): Promise<Pick<Batch, 'held' | 'heldReasons'>> {
  const counts: Record<HeldReason, number> = { noSignal: 0, signalTooWeak: 0, notDwelling: 0 }
  if (delivery === null) return { held: 0, heldReasons: counts }
  const rows = await queryEntities<{ reason: HeldReason; count: number }>(
    db,
    `SELECT reason, count(*)::int AS count FROM (
       SELECT ${heldReasonSql('b.delivery', 'm')} AS reason FROM job_batch b JOIN job j ON ${jobOfBatchSql}
         LEFT JOIN device_moment m ON ${momentOfJobSql('m', 'j')}
       WHERE b.organization_id = $organizationId AND b.id = $id AND j.status = 'dispatched' AND NOT ${isHeldBackSql}) held
     WHERE reason IS NOT NULL GROUP BY reason`,
    { organizationId, id },
  )
  for (const { reason, count } of rows) counts[reason] = count
  return { held: rows.reduce((sum, { count }) => sum + count, 0), heldReasons: counts }
}

/** Adds the counts of jobs by status to each stage. The jobs of a stage have consecutive ids. */
async function countStages(db: Queryable, { id, stages }: Pick<BatchSummary, 'id' | 'stages'>, organizationId: string) {
  if (stages.length === 0) return []
  const ends = stages.map((_, index) => stages.slice(0, index + 1).reduce((sum, { devices }) => sum + devices, 0))
  const { rows } = await db.query<{ stage: number; status: JobStatus; count: number }>(
    `SELECT s.stage::int, j.status, count(*)::int
     FROM unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS s (after, up_to, stage)
     JOIN job j ON j.organization_id = $1 AND j.batch_id = $2 AND j.id > s.after AND j.id <= s.up_to
     GROUP BY s.stage, j.status`,
    [organizationId, id, ...stageRanges(id, ends)],
  )
  return stages.map((stage, index) => ({
    ...stage,
    counts: Object.fromEntries(
      rows.filter((row) => row.stage === index + 1).map(({ status, count }) => [status, count]),
    ) as Partial<Record<JobStatus, number>>,
  }))
}

/** One batch (`job:read`). Throws 404. */
export const getBatch = (ctx: FleetContext, reference: BatchReference): Promise<Batch> =>
  withObject(ctx, batchAccess(reference, 'job:read'), (connection) => readBatch(connection, reference))

/** The organization's batches, newest first (`job:read`). */
export async function listBatches(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<BatchSummary>> {
  authorize(ctx.principal, organizationId, 'job:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { items, nextAfter } = await queryPage<WithStageTimes<BatchSummary>>(
      connection,
      `SELECT ${columns}, ${listedTarget} FROM job_batch b
       WHERE b.organization_id = $organizationId AND ($after::uuid IS NULL OR b.id < $after) ORDER BY b.id DESC LIMIT $limit`,
      { organizationId },
      page,
    )
    return { items: items.map(withStages), nextAfter }
  })
}
