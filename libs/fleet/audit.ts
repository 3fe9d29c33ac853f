import { newId } from '#core/ids'
import type { Queryable } from '#postgres/pool'

/** Who changed what. `detail` never holds a secret: names, ids, statuses and counts only. */
export type AuditEntry = {
  organizationId: string
  actor: string
  action: string
  subjectType: string
  subjectId: string
  detail?: Record<string, unknown>
  requestId?: string
}

/** Writes audit rows in the caller's transaction, so that a change and its record exist together or not at all. */
export async function recordAudit(connection: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  await connection.query(
    `INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id, detail, request_id, at)
     SELECT entry.*, uuid_extract_timestamp(entry.id)
     FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::jsonb[], $8::text[])
       AS entry (id, organization_id, actor, action, subject_type, subject_id, detail, request_id)`,
    [
      entries.map(() => newId()),
      entries.map((entry) => entry.organizationId),
      entries.map((entry) => entry.actor),
      entries.map((entry) => entry.action),
      entries.map((entry) => entry.subjectType),
      entries.map((entry) => entry.subjectId),
      entries.map((entry) => JSON.stringify(entry.detail ?? {})),
      entries.map((entry) => entry.requestId ?? null),
    ],
  )
}
