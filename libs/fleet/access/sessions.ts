import { hashToken, issueToken } from '#core/tokens'
import { type FoundKey, findKeysById, type KeySource } from '#fleet/access/key-lookup'
import type { Principal } from '#fleet/access/principal'
import { checkEveryMinutes, confirmedForMinutes } from '#fleet/access/session-checks'
import { type StatedGrants, userPrincipal } from '#fleet/access/user-principal'
import { recordAudit } from '#fleet/audit/record'
import { queryEntity } from '#postgres/entities'
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
    const { id } = await queryEntity<{ id: string }>(
      connection,
      `INSERT INTO sign_in_session
         (id, token_hash, principal_id, api_key_id, user_name, user_grants, user_platform, user_agent, expires_at,
          provider_tokens, confirmed_at, check_at)
       VALUES (uuidv7(), $hash, $principalId, $keyId, $name, $grants, $platform, $userAgent,
         now() + make_interval(secs => $lifetimeS), $tokens::text, CASE WHEN $tokens::text IS NOT NULL THEN now() END,
         CASE WHEN $tokens::text IS NOT NULL THEN now() + make_interval(mins => $checkEveryMinutes) END)
       RETURNING id`,
      {
        hash,
        principalId: principal.id,
        keyId: 'keyId' in who ? who.keyId : null,
        name: user?.name,
        grants: user?.grants,
        platform: user?.platform ?? false,
        userAgent: session.userAgent?.slice(0, maxUserAgentLength),
        lifetimeS: lifetimeMs / 1_000,
        tokens: user?.tokens,
        checkEveryMinutes,
      },
    )
    await auditSession(connection, principal, 'session.started', id, requestId)
    return { id, token }
  })
}

type StoredSession = {
  id: string
  tokenHash: Buffer
  principalId: string
  apiKeyId: string | null
  name: string | null
  grants: StatedGrants | null
  platform: boolean
  /** When it expires, or when the identity provider has not confirmed it for too long. */
  expiresAt: Date
}

/**
 * Finds sessions by the hashes of their tokens (base64). Returns them by hash, without unknown, expired and revoked ones, and
 * without those that the identity provider has not confirmed for too long.
 */
export async function findSessionsByHash(source: KeySource, hashes: readonly string[]): Promise<Map<string, FoundKey>> {
  const { rows } = await source.db.query<StoredSession>(
    `SELECT id, token_hash AS "tokenHash", principal_id AS "principalId", api_key_id AS "apiKeyId", user_name AS name,
       user_grants AS grants, user_platform AS platform,
       least(expires_at, confirmed_at + make_interval(mins => $2)) AS "expiresAt"
     FROM sign_in_session
     WHERE token_hash = ANY ($1::bytea[]) AND least(expires_at, confirmed_at + make_interval(mins => $2)) > now()`,
    [hashes.map((hash) => Buffer.from(hash, 'base64')), confirmedForMinutes],
  )
  if (rows.length === 0) return new Map()
  const keys = await findKeysById(
    source,
    rows.flatMap(({ apiKeyId }) => apiKeyId ?? []),
  )
  const found = new Map<string, FoundKey>()
  for (const session of rows) {
    const { id, apiKeyId, expiresAt, tokenHash } = session
    const key = apiKeyId === null ? undefined : keys.get(apiKeyId)
    const principal = apiKeyId === null ? await principalOfUser(source, session) : key?.principal
    if (!principal) continue
    found.set(tokenHash.toString('base64'), {
      id,
      principal: { ...principal, sessionId: id },
      expiresAtMs: Math.min(expiresAt.getTime(), key?.expiresAtMs ?? Number.POSITIVE_INFINITY),
    })
  }
  return found
}

const principalOfUser = (
  source: KeySource,
  { principalId, name, grants, platform }: StoredSession,
): Promise<Principal> =>
  userPrincipal(source, { id: principalId, name: name ?? undefined, grants: grants ?? {}, platform })

/** Records a sign-in or sign-out in the audit log of every organization in which the principal holds a scope, or of the platform. */
export const auditSession = (
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
      subjectId,
      requestId,
    })),
  )
