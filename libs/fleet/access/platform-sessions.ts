import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import {
  type PersonSession,
  type PersonSessionRow,
  selectSessions,
  toPersonSession,
} from '#fleet/access/organization-sessions'
import { requirePlatform } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { transaction } from '#postgres/pool'

type InstallationSession = PersonSession & { platform: boolean }
type Row = PersonSessionRow & { platform: boolean }

/** The sign-in sessions of all people, newest first. `platform`: only those of platform administrators, or no such. Platform only. */
export async function listAllSessions(
  ctx: FleetContext,
  { platform, page }: { platform: boolean | undefined; page: PageRequest },
): Promise<Page<InstallationSession>> {
  requirePlatform(ctx.principal)
  const { rows } = await ctx.pool.query<Row>(
    `SELECT * FROM (${selectSessions}) s
      WHERE s.expires_at > now() AND ($1::boolean IS NULL OR s.platform = $1) AND ($2::uuid IS NULL OR s.id < $2)
      ORDER BY s.id DESC LIMIT $3`,
    [platform ?? null, page.after ?? null, page.limit + 1],
  )
  return pageOf(rows, page.limit, (row) => ({ ...toPersonSession(ctx, row), platform: row.platform }))
}

type EndedRow = { principal_id: string; organization_ids: string[] }

/**
 * Ends a sign-in session of any person. Recorded in the audit log of the person's organizations and in that of the platform.
 * Platform only. Throws 404.
 */
export async function endAnySession(ctx: FleetContext, { sessionId }: { sessionId: string }): Promise<void> {
  requirePlatform(ctx.principal)
  await transaction(ctx.pool, async (connection) => {
    const { rows } = await connection.query<EndedRow>(
      `DELETE FROM sign_in_session s WHERE s.id = $1 RETURNING s.principal_id, ARRAY(
         SELECT g.organization_id::text FROM api_key_grant g WHERE g.api_key_id = s.api_key_id
         UNION SELECT granted FROM jsonb_object_keys(s.user_grants) AS granted) AS organization_ids`,
      [isUuid(sessionId) ? sessionId : null],
    )
    const [ended] = rows
    if (!ended) throw notFound('session', sessionId)
    const subject = { subjectType: 'session', subjectId: sessionId, detail: { principalId: ended.principal_id } }
    const organizationIds = [null, ...ended.organization_ids.filter(isUuid)]
    const entries = organizationIds.map((organizationId) => ({ organizationId, action: 'session.revoked', ...subject }))
    await auditCaller(ctx, connection, ...entries)
  })
}
