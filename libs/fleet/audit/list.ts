import { authorize, requirePlatform } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'

type AuditRecord = {
  id: string
  at: string
  actor: string
  action: string
  subjectType: string
  subjectId: string
  detail: Record<string, unknown>
  requestId: string | null
}

type AuditFilter = {
  action?: string | undefined
  actor?: string | undefined
  subjectId?: string | undefined
  /** Including this time. */
  from?: Date | undefined
  /** Excluding this time. */
  to?: Date | undefined
}

type AuditRow = {
  id: string
  at: Date
  actor: string
  action: string
  subject_type: string
  subject_id: string
  detail: Record<string, unknown>
  request_id: string | null
}

type AuditRequest = { filter: AuditFilter; page: PageRequest }

/** The organization's audit records, newest first (`audit:read`). */
export async function listAudit(
  ctx: FleetContext,
  { organizationId, ...request }: AuditRequest & { organizationId: string },
): Promise<Page<AuditRecord>> {
  authorize(ctx.principal, organizationId, 'audit:read')
  await requireOrganization(ctx, organizationId)
  return readAudit(ctx, organizationId, request)
}

/** The audit records of the platform itself, which belong to no organization, newest first. Platform only. */
export async function listPlatformAudit(ctx: FleetContext, request: AuditRequest): Promise<Page<AuditRecord>> {
  requirePlatform(ctx.principal)
  return readAudit(ctx, null, request)
}

async function readAudit(
  ctx: FleetContext,
  organizationId: string | null,
  { filter, page }: AuditRequest,
): Promise<Page<AuditRecord>> {
  const { rows } = await ctx.pool.query<AuditRow>(
    `SELECT id, at, actor, action, subject_type, subject_id, detail, request_id FROM audit_entry
      WHERE ${organizationId === null ? 'organization_id IS NULL AND $1::uuid IS NULL' : 'organization_id = $1'} AND ($2::uuid IS NULL OR id < $2)
        AND ($3::text IS NULL OR action = $3) AND ($4::text IS NULL OR actor = $4) AND ($5::text IS NULL OR subject_id = $5)
        AND ($6::timestamptz IS NULL OR at >= $6) AND ($7::timestamptz IS NULL OR at < $7)
      ORDER BY id DESC LIMIT $8`,
    [
      organizationId,
      page.after ?? null,
      filter.action ?? null,
      filter.actor ?? null,
      filter.subjectId ?? null,
      filter.from ?? null,
      filter.to ?? null,
      page.limit + 1,
    ],
  )
  return pageOf(rows, page.limit, toAuditRecord)
}

const toAuditRecord = (row: AuditRow): AuditRecord => ({
  id: row.id,
  at: row.at.toISOString(),
  actor: row.actor,
  action: row.action,
  subjectType: row.subject_type,
  subjectId: row.subject_id,
  detail: row.detail,
  requestId: row.request_id,
})
