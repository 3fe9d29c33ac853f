import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { hashToken, issueToken } from '#core/tokens'
import { type FoundKey, findKeysById, type KeySource } from '#fleet/access/key-lookup'
import type { Principal } from '#fleet/access/principal'
import { checkEveryMinutes, confirmedForMinutes } from '#fleet/access/session-checks'
import { type StatedGrants, userPrincipal } from '#fleet/access/user-principal'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** Who signed in: with the link of an API key, or at an identity provider. */
export type SignedIn = { keyId: string } | SignedInUser

/** `tokens`: sealed, to check the user again at the provider. */
type SignedInUser = { name: string | undefined; grants: StatedGrants; platform: boolean; tokens: string }

type NewSession = {
  who: SignedIn
  /** The principal whose sign-in is recorded in the audit log of its organizations. */
  principal: Principal
  userAgent: string | undefined
  lifetimeMs: number
  /** The token of the session that this browser had before, which ends. */
  replaces: string | undefined
  requestId: string
}

const maxUserAgentLength = 300

/** Starts a session. Returns the token of its cookie, which is stored only as a hash. */
export async function startSession(pool: Pool, session: NewSession): Promise<{ id: string; token: string }> {
  const { who, principal, lifetimeMs, replaces, requestId } = session
  const { token, hash } = issueToken('fls')
  const user = 'keyId' in who ? undefined : who
  return transaction(pool, async (connection) => {
    if (replaces !== undefined)
      await connection.query('DELETE FROM sign_in_session WHERE token_hash = $1', [hashToken(replaces)])
    const { rows } = await connection.query<{ id: string }>(
      `INSERT INTO sign_in_session
         (id, token_hash, principal_id, api_key_id, user_name, user_grants, user_platform, user_agent, expires_at,
          provider_tokens, confirmed_at, check_at)
       VALUES (uuidv7(), $1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8), $9::text,
               CASE WHEN $9::text IS NOT NULL THEN now() END, CASE WHEN $9::text IS NOT NULL THEN now() + make_interval(mins => $10) END)
       RETURNING id`,
      [
        hash,
        principal.id,
        'keyId' in who ? who.keyId : null,
        user?.name ?? null,
        user ? JSON.stringify(user.grants) : null,
        user?.platform ?? false,
        session.userAgent?.slice(0, maxUserAgentLength) ?? null,
        lifetimeMs / 1_000,
        user?.tokens ?? null,
        checkEveryMinutes,
      ],
    )
    const id = rows[0]?.id
    if (!id) throw new Error('The session was not inserted.')
    await auditSession(connection, principal, 'session.started', id, requestId)
    return { id, token }
  })
}

type SessionRow = {
  id: string
  token_hash: Buffer
  principal_id: string
  api_key_id: string | null
  user_name: string | null
  user_grants: StatedGrants | null
  user_platform: boolean
  expires_at: Date
  confirmed_until: Date | null
}

/**
 * Finds sessions by the hashes of their tokens (base64). Returns them by hash, without unknown, expired and revoked ones, and
 * without those that the identity provider has not confirmed for too long.
 */
export async function findSessionsByHash(source: KeySource, hashes: readonly string[]): Promise<Map<string, FoundKey>> {
  const { rows } = await source.db.query<SessionRow>(
    `SELECT id, token_hash, principal_id, api_key_id, user_name, user_grants, user_platform, expires_at,
            confirmed_at + make_interval(mins => $2) AS confirmed_until
       FROM sign_in_session
      WHERE token_hash = ANY($1::bytea[]) AND expires_at > now()
        AND (confirmed_at IS NULL OR confirmed_at + make_interval(mins => $2) > now())`,
    [hashes.map((hash) => Buffer.from(hash, 'base64')), confirmedForMinutes],
  )
  if (rows.length === 0) return new Map()
  const keys = await findKeysById(
    source,
    rows.flatMap((row) => row.api_key_id ?? []),
  )
  const found = new Map<string, FoundKey>()
  for (const row of rows) {
    const key = row.api_key_id === null ? undefined : keys.get(row.api_key_id)
    const principal = row.api_key_id === null ? await principalOfUser(source, row) : key?.principal
    if (!principal) continue
    found.set(row.token_hash.toString('base64'), {
      id: row.id,
      principal: { ...principal, sessionId: row.id },
      expiresAtMs: Math.min(
        row.expires_at.getTime(),
        row.confirmed_until?.getTime() ?? Number.POSITIVE_INFINITY,
        key?.expiresAtMs ?? Number.POSITIVE_INFINITY,
      ),
    })
  }
  return found
}

const principalOfUser = (source: KeySource, row: SessionRow): Promise<Principal> =>
  userPrincipal(source, {
    id: row.principal_id,
    name: row.user_name ?? undefined,
    grants: row.user_grants ?? {},
    platform: row.user_platform,
  })

/** A session of the caller. `current`: the one of this request. */
type Session = {
  id: string
  current: boolean
  userAgent: string | null
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string
}

type ListedRow = {
  id: string
  user_agent: string | null
  created_at: Date
  last_used_at: Date | null
  expires_at: Date
}

/** The caller's own sign-in sessions, newest first. */
export async function listSessions(
  { pool, principal }: Pick<FleetContext, 'pool' | 'principal'>,
  { page }: { page: PageRequest },
): Promise<Page<Session>> {
  const { rows } = await pool.query<ListedRow>(
    `SELECT s.id, s.user_agent, s.created_at, u.last_used_at, s.expires_at
       FROM sign_in_session s LEFT JOIN sign_in_session_use u ON u.session_id = s.id
      WHERE s.principal_id = $1 AND s.expires_at > now() AND ($2::uuid IS NULL OR s.id < $2)
      ORDER BY s.id DESC LIMIT $3`,
    [principal.id, page.after ?? null, page.limit + 1],
  )
  return pageOf(rows, page.limit, (row) => ({
    id: row.id,
    current: row.id === principal.sessionId,
    userAgent: row.user_agent,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    expiresAt: row.expires_at.toISOString(),
  }))
}

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

/** Records a sign-in or sign-out in the audit log of every organization in which the principal holds a scope, or of the platform. */
const auditSession = (
  connection: Queryable,
  { id: actor, grants, platform }: Principal,
  action: string,
  subjectId: string,
  requestId: string,
): Promise<void> =>
  recordAudit(
    connection,
    [...grants.keys(), ...(platform ? [null] : [])].map((organizationId) => ({
      organizationId,
      actor,
      action,
      subjectType: 'session',
      subjectId,
      requestId,
    })),
  )
