import { rememberActors, shownName } from '#fleet/audit/actor-names'
import type { FleetContext } from '#fleet/context'
import type { Queryable } from '#postgres/pool'

/**
 * An action on an object of an organization; null for one on the platform. `action` begins with the type of the object.
 * `detail` contains names, ids, statuses and counts, never a secret.
 */
type AuditAction = {
  organizationId: string | null
  action: string
  subjectId: string
  detail?: Record<string, unknown>
}

/** An action with its actor: `key:…`, `person:…`, `user:…`, `enrollment-key:…`, `email:…` (who answered a message) or `system`. */
type AuditEntry = AuditAction & { actor: string; actorName?: string | undefined; requestId?: string }

type Caller = Pick<FleetContext, 'principal' | 'requestId'>

/** Writes the audit row of what a caller did with one object, in the caller's transaction. */
export const auditObject = (
  caller: Caller,
  connection: Queryable,
  action: string,
  { organizationId, id }: { organizationId: string; id: string },
  detail: Record<string, unknown> = {},
): Promise<void> => auditCaller(caller, connection, { organizationId, action, subjectId: id, detail })

/** Writes the audit rows of what a caller did, in the caller's transaction. */
export const auditCaller = (
  { principal, requestId }: Caller,
  connection: Queryable,
  ...actions: AuditAction[]
): Promise<void> =>
  recordAudit(
    connection,
    actions.map((action) => ({ ...action, actor: principal.id, actorName: shownName(principal), requestId })),
  )

/** Writes the audit rows of automatic actions of the service, in the caller's transaction. */
export const auditSystem = (connection: Queryable, ...actions: AuditAction[]): Promise<void> =>
  recordAudit(
    connection,
    actions.map((action) => ({ ...action, actor: 'system' })),
  )

/**
 * Writes audit rows in the caller's transaction, so that a change and its record are committed together. The ids carry the
 * database's time, because the clocks of processes differ and readers page by these ids.
 */
export async function recordAudit(connection: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  await rememberActors(
    connection,
    entries.flatMap(({ organizationId, actor, actorName }) =>
      organizationId === null || actorName === undefined ? [] : [{ organizationId, actor, name: actorName }],
    ),
  )
  await connection.query(
    `INSERT INTO audit_entry (id, organization_id, actor, action, subject_type, subject_id, detail, request_id, at)
     SELECT entry.*, uuid_extract_timestamp(entry.id)
     FROM (SELECT uuidv7() AS id, * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[],
             $7::text[]) AS entry (organization_id, actor, action, subject_type, subject_id, detail, request_id)) AS entry`,
    [
      entries.map((entry) => entry.organizationId),
      entries.map((entry) => entry.actor),
      entries.map((entry) => entry.action),
      entries.map(({ action }) => action.slice(0, action.indexOf('.'))),
      entries.map((entry) => entry.subjectId),
      entries.map((entry) => JSON.stringify(entry.detail ?? {})),
      entries.map((entry) => entry.requestId ?? null),
    ],
  )
}
