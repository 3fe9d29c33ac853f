import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { jobOfBatchSql } from '#fleet/jobs/batches/read'
import { type JobKind, redactParameters } from '#fleet/jobs/model/kinds'
import type { JobStatus } from '#fleet/jobs/model/states'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

export type Job = {
  id: string
  batchId: string | null
  organizationId: string
  deviceId: string
  kind: JobKind
  status: JobStatus
  attempt: number
  maxAttempts: number
  parameters: Record<string, unknown>
  progress: number | null
  result: unknown
  error: { code: string; detail: string | null } | null
  cancelRequested: boolean
  expiresAt: string
  createdAt: string
  updatedAt: string
  finishedAt: string | null
}

export type OrganizationJob = { organizationId: string; jobId: string }

/** One change of status, with its time and its actor (`key:…`, `user:…`, `device:…` or `system`). */
type JobHistoryEntry = { status: JobStatus; at: string; by: string }

type JobWithHistory = Job & { history: JobHistoryEntry[] }

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

type JobRow = {
  id: string
  batch_id: string | null
  organization_id: string
  device_id: string
  kind: JobKind
  status: JobStatus
  attempt: number
  max_attempts: number
  parameters: Record<string, unknown>
  profile_id: string | null
  profile_version: number | null
  progress: number | null
  result: unknown
  error_code: string | null
  error_detail: string | null
  cancel_requested: boolean
  expires_at: Date
  created_at: Date
  updated_at: Date
  finished_at: Date | null
  created_by: string
}

// The parameters and the profile of a batch are stored once, with the batch.
const columns = `
  j.id, j.batch_id, j.organization_id, j.device_id, j.kind, j.status, j.attempt, j.max_attempts,
  coalesce(b.parameters, j.parameters) AS parameters, b.profile_id, b.profile_version, j.progress, j.result,
  j.error_code, j.error_detail, j.cancel_requested, j.expires_at, j.created_at, j.updated_at, j.finished_at, j.created_by`

const selectJobs = `
  SELECT ${columns}
  FROM job j LEFT JOIN job_batch b ON b.id = j.batch_id
  WHERE j.organization_id = $1`

const toJob = (row: JobRow): Job => ({
  id: row.id,
  batchId: row.batch_id,
  organizationId: row.organization_id,
  deviceId: row.device_id,
  kind: row.kind,
  status: row.status,
  attempt: row.attempt,
  maxAttempts: row.max_attempts,
  parameters:
    row.profile_id === null
      ? redactParameters(row.parameters)
      : { profile: { id: row.profile_id, version: row.profile_version } },
  progress: row.progress,
  result: row.result,
  error: row.error_code === null ? null : { code: row.error_code, detail: row.error_detail },
  cancelRequested: row.cancel_requested,
  expiresAt: row.expires_at.toISOString(),
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  finishedAt: row.finished_at?.toISOString() ?? null,
})

/** One job, in the caller's transaction. Throws 404. */
export async function readJob(db: Queryable, organizationId: string, jobId: string): Promise<Job> {
  return toJob(await readRow(db, organizationId, jobId))
}

async function readRow(db: Queryable, organizationId: string, jobId: string): Promise<JobRow> {
  if (!isUuid(jobId)) throw notFound('job', jobId)
  const { rows } = await db.query<JobRow>(`${selectJobs} AND j.id = $2`, [organizationId, jobId])
  if (!rows[0]) throw notFound('job', jobId)
  return rows[0]
}

async function readHistory(db: Queryable, row: JobRow): Promise<JobHistoryEntry[]> {
  const { rows: events } = await db.query<{ status: JobStatus; at: Date; by: string }>(
    'SELECT status, at, by FROM job_event WHERE job_id = $1 ORDER BY sequence',
    [row.id],
  )
  const created = { status: 'queued' as const, at: row.created_at, by: row.created_by }
  return [created, ...events].map(({ status, at, by }) => ({ status, at: at.toISOString(), by }))
}

/** One job with its history, oldest entry first (`job:read`). Throws 404. */
export async function getJob(ctx: FleetContext, { organizationId, jobId }: OrganizationJob): Promise<JobWithHistory> {
  await authorizeObject(ctx, organizationId, 'job:read', 'job', jobId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const row = await readRow(connection, organizationId, jobId)
    return { ...toJob(row), history: await readHistory(connection, row) }
  })
}

/** The organization's jobs that match the filter, newest first (`job:read`). Throws 404 for a group of another organization. */
export async function listJobs(
  ctx: FleetContext,
  { organizationId, filter, page }: { organizationId: string; filter: JobFilter; page: PageRequest },
): Promise<Page<Job>> {
  authorize(ctx.principal, organizationId, 'job:read')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    if (filter.groupId !== undefined) await requireGroup(connection, organizationId, filter.groupId)
    const values: unknown[] = [organizationId]
    const conditions = conditionsOf(filter).map(([value, condition]) => condition(`$${values.push(value)}`))
    if (page.after !== undefined) conditions.push(`j.id < $${values.push(page.after)}`)
    if (filter.inBatch !== undefined) conditions.push(`j.batch_id IS ${filter.inBatch ? 'NOT NULL' : 'NULL'}`)
    const isFew = filter.deviceId !== undefined || filter.batchId !== undefined || filter.inBatch === false
    const select = isFew ? selectFew : selectAll
    const { rows } = await connection.query<JobRow>(select(conditions, `$${values.push(page.limit + 1)}`), values)
    return pageOf(rows, page.limit, toJob)
  })
}

type SelectPage = (conditions: readonly string[], limit: string) => string

/** Selects a page of the jobs of one device or one batch by their index. */
const selectFew: SelectPage = (conditions, limit) =>
  `${[selectJobs, ...conditions].join(' AND ')} ORDER BY j.id DESC LIMIT ${limit}`

/**
 * Selects a page of all jobs: the newest single ones, and those of the newest batches, one batch after the other. This
 * works because the ids of two batches never interleave. Each part stops after one page.
 */
const selectAll: SelectPage = (conditions, limit) => `
  SELECT * FROM (
    (${selectFew([...conditions, 'j.batch_id IS NULL'], limit)})
    UNION ALL
    (SELECT ${columns}
     FROM job_batch b CROSS JOIN LATERAL (
       SELECT * FROM job j WHERE ${[jobOfBatchSql, ...conditions].join(' AND ')} ORDER BY j.id DESC LIMIT ${limit}) j
     WHERE b.organization_id = $1 ORDER BY b.id DESC, j.id DESC LIMIT ${limit})
  ) listed ORDER BY id DESC LIMIT ${limit}`

type Condition = [value: string, condition: (parameter: string) => string]

const conditionsOf = ({ status, kind, deviceId, groupId, batchId }: JobFilter): Condition[] => {
  const all: [string | undefined, Condition[1]][] = [
    [status, (parameter) => `j.status = ${parameter}`],
    [kind, (parameter) => `j.kind = ${parameter}`],
    [deviceId, (parameter) => `j.device_id = ${parameter}`],
    [groupId, (parameter) => `b.target ->> 'groupId' = ${parameter}::text`],
    // The bounds limit the scan to the ids of the batch.
    [
      batchId,
      (parameter) => `j.batch_id = ${parameter}::uuid AND j.id > ${parameter}::uuid
        AND j.id <= (SELECT last_job_id FROM job_batch WHERE id = ${parameter}::uuid)`,
    ],
  ]
  return all.flatMap(([value, condition]) => (value === undefined ? [] : [[value, condition]]))
}

async function requireGroup(db: Queryable, organizationId: string, groupId: string): Promise<void> {
  const { rowCount } = await db.query('SELECT FROM device_group WHERE organization_id = $1 AND id = $2', [
    organizationId,
    groupId,
  ])
  if (!rowCount) throw notFound('group', groupId)
}
