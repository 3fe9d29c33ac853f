import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { DeviceFilter } from '#fleet/devices/matching'
import { batchJobId } from '#fleet/jobs/model/batch-ids'
import { type JobKind, redactParameters } from '#fleet/jobs/model/kinds'
import type { PauseReason, Rollout } from '#fleet/jobs/model/rollout'
import type { Schedule } from '#fleet/jobs/model/schedule'
import { type Stage, type StageTimes, stagesOf } from '#fleet/jobs/model/stages'
import type { JobStatus } from '#fleet/jobs/model/states'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

export const batchStatuses = ['scheduled', 'running', 'paused', 'finished', 'cancelled'] as const
export type BatchStatus = (typeof batchStatuses)[number]

/** A filter stands for the devices that match it when the batch is created. */
export type BatchTarget = { groupId: string } | { deviceIds: string[] } | { filter: DeviceFilter }

/** The target in a list: instead of up to 10,000 ids, their number, and the device if it is one. */
type ListedTarget = Exclude<BatchTarget, { deviceIds: string[] }> | { deviceCount: number; deviceId: string | null }

export type BatchReference = { organizationId: string; batchId: string }

/** A batch in a list. `total` is the number of jobs; it does not include skipped devices. */
type BatchSummary<Target = ListedTarget> = {
  id: string
  kind: JobKind
  status: BatchStatus
  /** Why the batch is paused; null for others. `stage`: it waits for an operator after a stage. */
  pauseReason: PauseReason | 'operator' | null
  target: Target
  /** The name of the group when the batch was created; null for devices. */
  targetName: string | null
  /** `name` is that of the version which the batch applies; null for batches of earlier releases. */
  profile: { id: string; version: number; name: string | null } | null
  parameters: Record<string, unknown>
  schedule: Schedule | null
  rollout: Rollout | null
  /** Empty unless the rollout divides the batch. */
  stages: Stage[]
  total: number
  counts: Record<JobStatus, number>
  jobsUrl: string
  /** `key:…` or `user:…`. */
  createdBy: string
  /** The name of an API key of the organization; null for other callers. */
  createdByName: string | null
  createdAt: string
  finishedAt: string | null
}

/** A batch with details: `jobs` holds its first 1,000 jobs, `jobsUrl` lists all of them. */
export type Batch = BatchSummary<BatchTarget> & {
  skipped: { deviceId: string; reason: string }[]
  stages: (Stage & { counts: Partial<Record<JobStatus, number>> })[]
  jobs: { id: string; deviceId: string; status: JobStatus }[]
}

type BatchRow<Target = BatchTarget> = {
  id: string
  organization_id: string
  kind: JobKind
  status: BatchStatus
  pause_reason: PauseReason | 'operator' | null
  target: Target
  target_name: string | null
  profile_id: string | null
  profile_version: number | null
  profile_name: string | null
  parameters: Record<string, unknown>
  schedule: Schedule | null
  rollout: Rollout | null
  stage_times: StageTimes[]
  created_by: string
  created_by_name: string | null
  total: number
  queued: number
  dispatched: number
  in_progress: number
  succeeded: number
  failed: number
  timed_out: number
  cancelled: number
  expired: number
  rejected: number
  created_at: Date
  finished_at: Date | null
}

const listedTarget = `CASE WHEN b.target ? 'deviceIds' THEN jsonb_build_object(
    'deviceCount', jsonb_array_length(b.target -> 'deviceIds'),
    'deviceId', CASE WHEN jsonb_array_length(b.target -> 'deviceIds') = 1 THEN b.target -> 'deviceIds' -> 0 END)
  ELSE b.target END AS target`

const columns = `b.id, b.organization_id, b.kind, b.status, b.pause_reason, b.target_name, b.profile_id,
  b.profile_version, b.profile_name, b.parameters, b.schedule, b.rollout, b.stage_times, b.total, b.queued, b.dispatched,
  b.in_progress, b.succeeded, b.failed, b.timed_out, b.cancelled, b.expired, b.rejected, b.created_by, b.created_at,
  b.finished_at,
  (SELECT k.name FROM api_key k WHERE k.organization_id = b.organization_id AND 'key:' || k.id = b.created_by) AS created_by_name`

const toSummary = <Target>(row: BatchRow<Target>): BatchSummary<Target> => ({
  id: row.id,
  kind: row.kind,
  status: row.status,
  pauseReason: row.status === 'paused' ? (row.pause_reason ?? 'operator') : null,
  target: row.target,
  targetName: row.target_name,
  profile:
    row.profile_id === null || row.profile_version === null
      ? null
      : { id: row.profile_id, version: row.profile_version, name: row.profile_name },
  parameters: redactParameters(row.parameters),
  schedule: row.schedule,
  rollout: row.rollout,
  stages: stagesOf(row.rollout ?? {}, {
    status: row.status,
    total: row.total,
    times: row.stage_times,
    finishedAt: row.finished_at?.toISOString() ?? null,
  }),
  total: row.total,
  counts: {
    queued: row.queued,
    dispatched: row.dispatched,
    inProgress: row.in_progress,
    succeeded: row.succeeded,
    failed: row.failed,
    timedOut: row.timed_out,
    cancelled: row.cancelled,
    expired: row.expired,
    rejected: row.rejected,
  },
  jobsUrl: `/orgs/${row.organization_id}/jobs?batchId=${row.id}`,
  createdBy: row.created_by,
  createdByName: row.created_by_name,
  createdAt: row.created_at.toISOString(),
  finishedAt: row.finished_at?.toISOString() ?? null,
})

/** SQL condition: job `j` belongs to batch `b`. Uses the range of ids that follow the id of the batch. */
export const jobOfBatchSql =
  'j.organization_id = b.organization_id AND j.id > b.id AND j.id <= b.last_job_id AND j.batch_id = b.id'

const maxListedJobs = 1_000

/** A batch with its first jobs, in the caller's transaction. Throws 404. */
export async function readBatch(db: Queryable, organizationId: string, batchId: string): Promise<Batch> {
  const { rows } = await db.query<BatchRow & Pick<Batch, 'skipped'>>(
    `SELECT ${columns}, b.target, b.skipped FROM job_batch b WHERE b.organization_id = $1 AND b.id = $2`,
    [organizationId, batchId],
  )
  const row = rows[0]
  if (!row) throw notFound('job batch', batchId)
  const { rows: jobs } = await db.query<{ id: string; device_id: string; status: JobStatus }>(
    `SELECT j.id, j.device_id, j.status FROM job_batch b JOIN job j ON ${jobOfBatchSql}
     WHERE b.organization_id = $1 AND b.id = $2 ORDER BY j.id LIMIT ${maxListedJobs}`,
    [organizationId, batchId],
  )
  const summary = toSummary(row)
  return {
    ...summary,
    stages: await countStages(db, summary, organizationId),
    skipped: row.skipped,
    jobs: jobs.map(({ id, device_id, status }) => ({ id, deviceId: device_id, status })),
  }
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
    [
      organizationId,
      id,
      ends.map((end, index) => batchJobId(id, end - (stages[index]?.devices ?? 0))),
      ends.map((end) => batchJobId(id, end)),
    ],
  )
  return stages.map((stage, index) => ({
    ...stage,
    counts: Object.fromEntries(
      rows.filter((row) => row.stage === index + 1).map(({ status, count }) => [status, count]),
    ) as Partial<Record<JobStatus, number>>,
  }))
}

/** One batch (`job:read`). Throws 404. */
export async function getBatch(ctx: FleetContext, { organizationId, batchId }: BatchReference): Promise<Batch> {
  await authorizeObject(ctx, organizationId, 'job:read', 'job batch', batchId)
  if (!isUuid(batchId)) throw notFound('job batch', batchId)
  return tenantTransaction(ctx, [organizationId], (connection) => readBatch(connection, organizationId, batchId))
}

/** The organization's batches, newest first (`job:read`). */
export async function listBatches(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<BatchSummary>> {
  authorize(ctx.principal, organizationId, 'job:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<BatchRow<ListedTarget>>(
      `SELECT ${columns}, ${listedTarget} FROM job_batch b WHERE b.organization_id = $1 AND ($2::uuid IS NULL OR b.id < $2)
       ORDER BY b.id DESC LIMIT $3`,
      [organizationId, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toSummary)
  })
}
