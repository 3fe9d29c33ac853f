import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, type Principal } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { transaction } from '#postgres/pool'

/** A sign-in session of a person, for administrators. `current`: the one of this request. */
export type PersonSession = {
  id: string
  current: boolean
  /** `key:…` or `user:…`, as in audit records, and the name of the key or the user. */
  principalId: string
  name: string | null
  userAgent: string | null
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string
}

export type PersonSessionRow = {
  id: string
  principal_id: string
  name: string | null
  user_agent: string | null
  created_at: Date
  last_used_at: Date | null
  expires_at: Date
}

/** All sessions, with the name of their key or user, and whether they are those of platform administrators. */
export const selectSessions = `
  SELECT s.id, s.principal_id, s.api_key_id, s.user_grants, s.user_platform, coalesce(k.name, s.user_name) AS name,
         s.user_agent, s.created_at, u.last_used_at, s.expires_at, s.user_platform OR coalesce(k.platform, false) AS platform
    FROM sign_in_session s LEFT JOIN sign_in_session_use u ON u.session_id = s.id LEFT JOIN api_key k ON k.id = s.api_key_id`

export const toPersonSession = ({ principal }: { principal: Principal }, row: PersonSessionRow): PersonSession => ({
  id: row.id,
  current: row.id === principal.sessionId,
  principalId: row.principal_id,
  name: row.name,
  userAgent: row.user_agent,
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
  expiresAt: row.expires_at.toISOString(),
})

// $1: the organization. Sessions of its own keys, and of users to whom the identity provider gives roles in it. Platform
// administrators are not people of an organization.
const ofOrganization = `
  s.expires_at > now() AND NOT s.user_platform AND (
    EXISTS (SELECT FROM api_key k WHERE k.id = s.api_key_id AND k.organization_id = $1 AND NOT k.platform)
    OR EXISTS (SELECT FROM jsonb_object_keys(s.user_grants) AS granted WHERE lower(granted) = $1::text))`

/** The sign-in sessions of the people of an organization, newest first (`key:manage`). */
export async function listOrganizationSessions(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<PersonSession>> {
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  const { rows } = await ctx.pool.query<PersonSessionRow>(
    `${selectSessions} WHERE ${ofOrganization} AND ($2::uuid IS NULL OR s.id < $2) ORDER BY s.id DESC LIMIT $3`,
    [organizationId, page.after ?? null, page.limit + 1],
  )
  return pageOf(rows, page.limit, (row) => toPersonSession(ctx, row))
}

/** Ends a sign-in session of a person of an organization (`key:manage`). Throws 404. */
export async function endOrganizationSession(
  ctx: FleetContext,
  { organizationId, sessionId }: { organizationId: string; sessionId: string },
): Promise<void> {
  const session = [organizationId, isUuid(sessionId) ? sessionId : null]
  await authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'session',
    id: sessionId,
    find: () => ctx.pool.query(`SELECT FROM sign_in_session s WHERE s.id = $2 AND ${ofOrganization}`, session),
  })
  await transaction(ctx.pool, async (connection) => {
    const { rows } = await connection.query<{ principal_id: string }>(
      `DELETE FROM sign_in_session s WHERE s.id = $2 AND ${ofOrganization} RETURNING s.principal_id`,
      session,
    )
    if (!rows[0]) throw notFound('session', sessionId)
    await auditCaller(ctx, connection, {
      organizationId,
      action: 'session.revoked',
      subjectType: 'session',
      subjectId: sessionId,
      detail: { principalId: rows[0].principal_id },
    })
  })
}
