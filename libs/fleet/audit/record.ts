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

/**
 * Writes audit rows in the caller's transaction, so that a change and its record exist together or not at all. Their ids
 * carry the database's time: clocks of processes differ, and readers find what is new by these ids.
 */
export async function recordAudit(connection: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  await connection.query(
    `INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id, detail, request_id, at)
     SELECT entry.*, uuid_extract_timestamp(entry.id)
     FROM (SELECT uuidv7() AS id, * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[],
             $7::text[]) AS entry (organization_id, actor, action, subject_type, subject_id, detail, request_id)) AS entry`,
    [
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
