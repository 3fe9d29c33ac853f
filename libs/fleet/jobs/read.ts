import { z } from 'zod'
import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import { authorize } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { requireGroup } from '#fleet/groups/read'
import { jobOfBatchSql } from '#fleet/jobs/batches/read'
import { deliveryOut, deliverySql, heldBecauseSql, heldReasons } from '#fleet/jobs/model/good-moment'
import { type JobKind, jobKinds, redactParameters } from '#fleet/jobs/model/kinds'
import { expiresAtSql, expiryMs, isHeldBackSql } from '#fleet/jobs/model/lifetime'
import { deliverableFrom, type Schedule } from '#fleet/jobs/model/schedule'
import { type JobStatus, jobStatuses } from '#fleet/jobs/model/states'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

export const jobSchema = z
  .object({
    id: uuid(),
    batchId: uuid().nullable(),
    organizationId: uuid(),
    deviceId: uuid(),
    kind: z.enum(jobKinds),
    status: z.enum(jobStatuses),
    attempt: z.int(),
    maxAttempts: z.int(),
    parameters: z
      .record(z.string(), z.unknown())
      .describe('Redacted: a download URL has no query, and `apply_config` shows only the profile and version.'),
    progress: z.int().nullable().describe('Progress in percent, as reported by the device.'),
    result: z.unknown().describe('The result reported by the device; null until the job ends.'),
    error: z
      .object({
        code: z
          .string()
          .describe(
            '`failed`, `rejected`, `deadline_exceeded`, `expired`, `device_disabled`, `profile_gone`, or of a cancelled job `device_gone` or `rollout_aborted`.',
          ),
        detail: z.string().nullable(),
      })
      .nullable(),
    cancelRequested: z.boolean(),
    expiresAt: instantOut().describe(
      'The job expires if the device does not start it by this time. While its batch holds it back, this is the expiry of a job that may start at the next possible time.',
    ),
    delivery: deliveryOut.nullable().describe('The good moment that the job waits for; null: it does not wait.'),
    heldBecause: z
      .enum(heldReasons)
      .nullable()
      .describe(
        'Why the device may not take the job yet: it reported no signal in the last 2 minutes, its signal is weaker than `minQuality`, or it does not dwell. Null when it may, while its batch holds it back, and after it was taken.',
      ),
    createdAt: instantOut(),
    updatedAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'Job' })

export const jobWithHistorySchema = jobSchema
  .extend({
    history: z
      .array(z.object({ status: z.enum(jobStatuses), at: instantOut(), by: z.string() }))
      .describe('All statuses of the job, oldest first.'),
  })
  .meta({ id: 'JobWithHistory' })

export type Job = z.infer<typeof jobSchema>
type JobWithHistory = z.infer<typeof jobWithHistorySchema>

export type OrganizationJob = { organizationId: string; jobId: string }

export const jobAccess = ({ organizationId, jobId }: OrganizationJob, scope: Scope) =>
  ({ scope, noun: 'job', organizationId, id: jobId }) as const

export type JobFilter = {
  status?: JobStatus | undefined
  kind?: JobKind | undefined
  deviceId?: string | undefined
  /** Jobs of batches that were dispatched to this group. */
  groupId?: string | undefined
  batchId?: string | undefined
  /** False: only jobs that were created for a single device. True: only jobs of batches. */
  inBatch?: boolean | undefined
}

// The parameters and the profile of a batch are stored once, with the batch.
const columns = `
  j.id, j.batch_id AS "batchId", j.organization_id AS "organizationId", j.device_id AS "deviceId", j.kind, j.status,
  j.attempt, j.max_attempts AS "maxAttempts",
  CASE WHEN b.profile_id IS NULL THEN coalesce(b.parameters, j.parameters)
    ELSE jsonb_build_object('profile', jsonb_build_object('id', b.profile_id, 'version', b.profile_version))
    END AS parameters, j.progress, j.result,
  CASE WHEN j.error_code IS NOT NULL THEN json_build_object('code', j.error_code, 'detail', j.error_detail) END AS error,
  j.cancel_requested AS "cancelRequested",
  CASE WHEN j.finished_at IS NULL THEN ${expiresAtSql} ELSE j.expires_at END AS "expiresAt", j.lifetime_s AS "lifetimeS",
  ${deliverySql('j', 'b')} AS delivery,
  CASE WHEN j.status IN ('queued', 'dispatched') THEN ${heldBecauseSql('j', 'b')} END AS "heldBecause",
  j.status IN ('queued', 'dispatched') AND ${isHeldBackSql} AS "isHeldBack", b.schedule,
  (b.stage_times -> -1 ->> 'endedAt')::timestamptz + (b.rollout ->> 'stageWaitMinutes')::int * interval '1 minute' AS "stageEndsAt",
  j.created_at AS "createdAt",
  j.updated_at AS "updatedAt", j.finished_at AS "finishedAt"`

const selectJobs = `
  SELECT ${columns}
  FROM job j LEFT JOIN job_batch b ON b.id = j.batch_id
  WHERE j.organization_id = $organizationId`

/** `stageEndsAt`: until when the batch of the job waits between two stages. */
type JobRow = Job & { lifetimeS: number; isHeldBack: boolean; schedule: Schedule | null; stageEndsAt: string | null }

/** Redacts the parameters of a job, and computes the expiry of one that is held back. */
function toJob({ lifetimeS, isHeldBack, schedule, stageEndsAt, ...job }: JobRow, nowMs: number): Job {
  const waitsUntilMs = Math.max(nowMs, stageEndsAt === null ? 0 : Date.parse(stageEndsAt))
  const expiresAt = isHeldBack
    ? new Date(
        expiryMs({ lifetimeS, schedule, delivery: job.delivery }, deliverableFrom(schedule, waitsUntilMs)),
      ).toISOString()
    : job.expiresAt
  return {
    ...job,
    heldBecause: isHeldBack ? null : job.heldBecause,
    expiresAt,
    parameters: redactParameters(job.parameters),
  }
}

/** One job, in the caller's transaction. Throws 404. */
export async function readJob(
  ctx: Pick<FleetContext, 'clock'>,
  db: Queryable,
  { organizationId, jobId }: OrganizationJob,
): Promise<Job> {
  if (!isUuid(jobId)) throw notFound('job', jobId)
  const [job] = await queryEntities<JobRow>(db, `${selectJobs} AND j.id = $jobId`, { organizationId, jobId })
  if (!job) throw notFound('job', jobId)
  return toJob(job, ctx.clock())
}

/** One job with its history, oldest entry first (`job:read`). Throws 404. */
export const getJob = (ctx: FleetContext, reference: OrganizationJob): Promise<JobWithHistory> =>
  withObject(ctx, jobAccess(reference, 'job:read'), async (connection) => {
    const job = await readJob(ctx, connection, reference)
    const history = await queryEntities<JobWithHistory['history'][number]>(
      connection,
      `SELECT status, at, by FROM (
         SELECT 0 AS sequence, 'queued' AS status, created_at AS at, created_by AS by
         FROM job WHERE organization_id = $organizationId AND id = $jobId
         UNION ALL
         SELECT sequence, status, at, by FROM job_event WHERE job_id = $jobId
       ) entry ORDER BY sequence`,
      reference,
    )
    return { ...job, history }
  })

/** The organization's jobs that match the filter, newest first (`job:read`). Throws 404 for a group of another organization. */
export async function listJobs(
  ctx: FleetContext,
  { organizationId, filter, page }: { organizationId: string; filter: JobFilter; page: PageRequest },
): Promise<Page<Job>> {
  authorize(ctx.principal, organizationId, 'job:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { groupId } = filter
    if (groupId !== undefined) await requireGroup(connection, { organizationId, groupId })
    const { conditions, values } = conditionsOf(filter, page)
    const isFew = filter.deviceId !== undefined || filter.batchId !== undefined || filter.inBatch === false
    const jobs = await queryEntities<JobRow>(connection, (isFew ? selectFew : selectAll)(conditions), {
      ...values,
      organizationId,
      limit: page.limit + 1,
    })
    return pageOf(jobs, page.limit, (job) => toJob(job, ctx.clock()))
  })
}

/** Selects a page of the jobs of one device or one batch by their index. */
const selectFew = (conditions: readonly string[]): string =>
  `${[selectJobs, ...conditions].join(' AND ')} ORDER BY j.id DESC LIMIT $limit`

/**
 * Selects a page of all jobs: the newest single ones, and those of the newest batches, one batch after the other. This
 * works because the ids of two batches never interleave. Each part stops after one page.
 */
const selectAll = (conditions: readonly string[]): string => `
  SELECT * FROM (
    (${selectFew([...conditions, 'j.batch_id IS NULL'])})
    UNION ALL
    (SELECT ${columns}
     FROM job_batch b CROSS JOIN LATERAL (
       SELECT * FROM job j WHERE ${[jobOfBatchSql, ...conditions].join(' AND ')} ORDER BY j.id DESC LIMIT $limit) j
     WHERE b.organization_id = $organizationId ORDER BY b.id DESC, j.id DESC LIMIT $limit)
  ) listed ORDER BY id DESC LIMIT $limit`

/** The conditions of a filter and a page, by the name of their parameter. */
const conditionOf = {
  status: 'j.status = $status',
  kind: 'j.kind = $kind',
  deviceId: 'j.device_id = $deviceId',
  groupId: `b.target ->> 'groupId' = $groupId::text`,
  // The bounds limit the scan to the ids of the batch.
  batchId: `j.batch_id = $batchId::uuid AND j.id > $batchId::uuid
    AND j.id <= (SELECT last_job_id FROM job_batch WHERE id = $batchId::uuid)`,
  after: 'j.id < $after',
}

function conditionsOf({ inBatch, ...filter }: JobFilter, { after }: PageRequest) {
  const { status, kind, deviceId, groupId, batchId } = filter
  const given = Object.entries({ status, kind, deviceId, groupId, batchId, after }).filter(
    ([, value]) => value !== undefined,
  )
  return {
    conditions: [
      ...given.map(([name]) => conditionOf[name as keyof typeof conditionOf]),
      ...(inBatch === undefined ? [] : [`j.batch_id IS ${inBatch ? 'NOT NULL' : 'NULL'}`]),
    ],
    values: Object.fromEntries(given),
  }
}
