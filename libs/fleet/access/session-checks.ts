import { isUuid } from '#core/ids'
import type { StatedGrants } from '#fleet/access/user-principal'
import { auditSystem } from '#fleet/audit/record'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** How often the identity provider is asked again. With the time of a check, a change takes effect within 15 minutes. */
export const checkEveryMinutes = 10
/** A session works for this time after the last answer of its identity provider. */
export const confirmedForMinutes = 60

/** A session to check now. `tokens`: the sealed tokens of its user at the provider. */
export type DueSession = { id: string; tokens: string; personId: string | null }

/** Takes sessions that are due. If their check fails or the process ends, they are due again after a minute. */
export async function takeDueSessions(db: Queryable, limit: number): Promise<DueSession[]> {
  const { rows } = await db.query<DueSession>(
    `UPDATE sign_in_session SET check_at = now() + interval '1 minute'
      WHERE id IN (SELECT id FROM sign_in_session WHERE check_at <= now() AND expires_at > now() AND provider_tokens IS NOT NULL
                    ORDER BY check_at LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING id, provider_tokens AS tokens, person_id AS "personId"`,
    [limit],
  )
  return rows
}

/** Stores new tokens of a session whose check is not complete. */
export async function keepTokens(db: Queryable, { id, tokens }: Pick<DueSession, 'id' | 'tokens'>): Promise<void> {
  await db.query('UPDATE sign_in_session SET provider_tokens = $2 WHERE id = $1', [id, tokens])
}

type Confirmation = Omit<DueSession, 'personId'> & { name: string | undefined; grants: StatedGrants; platform: boolean }
type StoredAccess = { grants: StatedGrants; platform: boolean }

/** Stores what the provider states about the user of a session now. Records changed roles in the audit log. */
export async function confirmSession(pool: Pool, { id, tokens, name, grants, platform }: Confirmation): Promise<void> {
  await transaction(pool, async (connection) => {
    const { rows } = await connection.query<StoredAccess & { isSame: boolean }>(
      `SELECT user_grants AS grants, user_platform AS platform, user_grants = $2::jsonb AND user_platform = $3 AS "isSame"
         FROM sign_in_session WHERE id = $1 FOR UPDATE`,
      [id, JSON.stringify(grants), platform],
    )
    const [before] = rows
    if (!before) return
    await connection.query(
      `UPDATE sign_in_session
          SET user_name = $2, user_grants = $3, user_platform = $4, provider_tokens = $5, confirmed_at = now(),
              check_at = now() + make_interval(mins => $6)
        WHERE id = $1`,
      [id, name ?? null, JSON.stringify(grants), platform, tokens, checkEveryMinutes],
    )
    if (before.isSame) return
    const organizations = { ...before.grants, ...grants }
    const isPlatform = before.platform || platform
    await auditUserSession(connection, 'session.roles_changed', id, organizations, isPlatform)
  })
}

/** Ends a session whose user the provider no longer admits. */
export async function endRefusedSession(pool: Pool, id: string, reason: string): Promise<void> {
  await transaction(pool, async (connection) => {
    const { rows } = await connection.query<StoredAccess>(
      'DELETE FROM sign_in_session WHERE id = $1 RETURNING user_grants AS grants, user_platform AS platform',
      [id],
    )
    if (!rows[0]) return
    const { grants, platform } = rows[0]
    await auditUserSession(connection, 'session.revoked', id, grants, platform, { reason })
  })
}

/** Records what happened to the session of a provider's user in the organizations of these grants. */
function auditUserSession(
  connection: Queryable,
  action: string,
  subjectId: string,
  grants: StatedGrants,
  platform: boolean,
  detail: Record<string, unknown> = {},
): Promise<void> {
  const organizationIds = Object.keys(grants).filter(isUuid)
  const entry = { action, subjectId, detail }
  return auditSystem(
    connection,
    ...organizationIds.map((organizationId) => ({ ...entry, organizationId })),
    ...(platform ? [{ ...entry, organizationId: null }] : []),
  )
}
