import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { authorize, requirePlatform } from '#fleet/access/principal'
import { actorNameSql } from '#fleet/audit/actor-names'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'

export const auditRecordSchema = z
  .object({
    id: uuid(),
    at: instantOut(),
    actor: z
      .string()
      .describe(
        '`key:…`, `person:…`, `user:…`, `device:…`, `email:…` (who answered a message about alerts) or `system`.',
      ),
    actorName: z.string().nullable().describe('The name of the person, user or API key; null for others.'),
    action: z.string(),
    subjectType: z.string(),
    subjectId: z.string(),
    subjectName: z
      .string()
      .nullable()
      .describe('The last known name of the object, also of a deleted one; null if it has none.'),
    detail: z.record(z.string(), z.unknown()),
    requestId: z.string().nullable(),
  })
  .meta({ id: 'AuditRecord' })

type AuditRecord = z.infer<typeof auditRecordSchema>

type AuditFilter = {
  action?: string | undefined
  actor?: string | undefined
  subjectId?: string | undefined
  /** Including this time. */
  from?: Date | undefined
  /** Excluding this time. */
  to?: Date | undefined
}

type AuditRequest = { filter: AuditFilter; page: PageRequest }

/** The organization's audit records, newest first (`audit:read`). */
export async function listAudit(
  ctx: FleetContext,
  { organizationId, ...request }: AuditRequest & { organizationId: string },
): Promise<Page<AuditRecord>> {
  authorize(ctx.principal, organizationId, 'audit:read')
  await requireOrganization(ctx, organizationId)
  return readAudit(ctx, 'organization_id = $organizationId', { organizationId }, request)
}

/** The audit records of the platform itself, which belong to no organization, newest first. Platform only. */
export async function listPlatformAudit(ctx: FleetContext, request: AuditRequest): Promise<Page<AuditRecord>> {
  requirePlatform(ctx.principal)
  return readAudit(ctx, 'organization_id IS NULL', {}, request)
}

const subjectName = `coalesce(
  CASE subject_type
    WHEN 'device' THEN (SELECT d.name FROM device d
      WHERE d.organization_id = audit_entry.organization_id AND d.id = subject_id::uuid)
    WHEN 'alert' THEN (SELECT a.rule_name FROM alert a
      WHERE a.organization_id = audit_entry.organization_id AND a.id = subject_id::uuid)
  END,
  (SELECT n.detail ->> 'name' FROM audit_entry n
   WHERE n.organization_id = audit_entry.organization_id AND n.subject_id = audit_entry.subject_id
     AND jsonb_typeof(n.detail -> 'name') = 'string' ORDER BY n.id DESC LIMIT 1))`

const readAudit = (
  { pool }: FleetContext,
  condition: string,
  values: Record<string, unknown>,
  { filter: { action, actor, subjectId, from, to }, page }: AuditRequest,
): Promise<Page<AuditRecord>> =>
  queryPage(
    pool,
    `SELECT id, at, actor, ${actorNameSql('audit_entry.organization_id', 'audit_entry.actor')} AS "actorName", action, subject_type AS "subjectType", subject_id AS "subjectId", ${subjectName} AS "subjectName", detail, request_id AS "requestId"
     FROM audit_entry
     WHERE ${condition} AND ($after::uuid IS NULL OR id < $after)
       AND ($action::text IS NULL OR action = $action) AND ($actor::text IS NULL OR actor = $actor)
       AND ($subjectId::text IS NULL OR subject_id = $subjectId)
       AND ($from::timestamptz IS NULL OR at >= $from) AND ($to::timestamptz IS NULL OR at < $to)
     ORDER BY id DESC LIMIT $limit`,
    { ...values, action, actor, subjectId, from, to },
    page,
  )
