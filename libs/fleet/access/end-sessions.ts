import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeFound } from '#fleet/access/authorize-object'
import { ofOrganization } from '#fleet/access/list-sessions'
import { requirePlatform } from '#fleet/access/principal'
import { auditSession } from '#fleet/access/sessions'
import { auditCaller, auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { named } from '#postgres/named'
import { transaction } from '#postgres/pool'

/** Ends a session of the caller. Throws 404. */
export async function endSession(
  { pool, principal, requestId }: Pick<FleetContext, 'pool' | 'principal' | 'requestId'>,
  { sessionId }: { sessionId: string },
): Promise<void> {
  await transaction(pool, async (connection) => {
    const { rowCount } = await connection.query('DELETE FROM sign_in_session WHERE id = $1 AND principal_id = $2', [
      isUuid(sessionId) ? sessionId : null,
      principal.id,
    ])
    if (!rowCount) throw notFound('session', sessionId)
    await auditSession(connection, principal, 'session.ended', sessionId, requestId)
  })
}

/** Ends a sign-in session of a person of an organization (`key:manage`). Throws 404. */
export async function endOrganizationSession(
  ctx: FleetContext,
  { organizationId, sessionId }: { organizationId: string; sessionId: string },
): Promise<void> {
  const session = { organizationId, sessionId: isUuid(sessionId) ? sessionId : null }
  await authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'session',
    id: sessionId,
    find: () =>
      ctx.pool.query(named(`SELECT FROM sign_in_session s WHERE s.id = $sessionId AND ${ofOrganization}`, session)),
  })
  await transaction(ctx.pool, async (connection) => {
    const { rows } = await connection.query<{ principalId: string }>(
      named(
        `DELETE FROM sign_in_session s WHERE s.id = $sessionId AND ${ofOrganization} RETURNING s.principal_id AS "principalId"`,
        session,
      ),
    )
    if (!rows[0]) throw notFound('session', sessionId)
    await auditObject(ctx, connection, 'session.revoked', { organizationId, id: sessionId }, rows[0])
  })
}

/**
 * Ends a sign-in session of any person. Recorded in the audit log of the person's organizations and in that of the platform.
 * Platform only. Throws 404.
 */
export async function endAnySession(ctx: FleetContext, { sessionId }: { sessionId: string }): Promise<void> {
  requirePlatform(ctx.principal)
  await transaction(ctx.pool, async (connection) => {
    const { rows } = await connection.query<{ principalId: string; organizationIds: string[] }>(
      `DELETE FROM sign_in_session s WHERE s.id = $1 RETURNING s.principal_id AS "principalId", ARRAY(
         SELECT g.organization_id::text FROM api_key_grant g WHERE g.api_key_id = s.api_key_id
         UNION SELECT r.organization_id::text FROM person_role r WHERE r.person_id = s.person_id
         UNION SELECT granted FROM jsonb_object_keys(s.user_grants) AS granted) AS "organizationIds"`,
      [isUuid(sessionId) ? sessionId : null],
    )
    const [ended] = rows
    if (!ended) throw notFound('session', sessionId)
    const subject = { subjectId: sessionId, detail: { principalId: ended.principalId } }
    const organizationIds = [null, ...ended.organizationIds.filter(isUuid)]
    const entries = organizationIds.map((organizationId) => ({ organizationId, action: 'session.revoked', ...subject }))
    await auditCaller(ctx, connection, ...entries)
  })
}
