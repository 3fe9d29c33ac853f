import { hashToken, issueToken } from '#core/tokens'
import { type FoundKey, findKeysById, type KeySource } from '#fleet/access/key-lookup'
import { rolesOfPersonSql } from '#fleet/access/person-principal'
import type { Principal } from '#fleet/access/principal'
import { checkEveryMinutes, confirmedForMinutes } from '#fleet/access/session-checks'
import { mergeGrants, type StatedGrants, userPrincipal } from '#fleet/access/user-principal'
import { shownName } from '#fleet/audit/actor-names'
import { recordAudit } from '#fleet/audit/record'
import { queryEntity } from '#postgres/entities'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** Who signed in: with the link of an API key, as a person, or at an identity provider. */
export type SignedIn = { keyId: string } | { personId: string } | SignedInUser

/** `tokens`: sealed, to check the user again at the provider. `personId`: the person with the user's address, who has roles here. */
type SignedInUser = {
  name: string | undefined
  grants: StatedGrants
  platform: boolean
  tokens: string
  personId?: string | undefined
}

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
  const user = 'tokens' in who ? who : undefined
  const keyId = 'keyId' in who ? who.keyId : null
  return transaction(pool, async (connection) => {
    if (replaces !== undefined)
      await connection.query('DELETE FROM sign_in_session WHERE token_hash = $1', [hashToken(replaces)])
    const { id } = await queryEntity<{ id: string }>(
      connection,
      `INSERT INTO sign_in_session
         (id, token_hash, principal_id, api_key_id, person_id, user_name, user_grants, user_platform, user_agent, expires_at,
          provider_tokens, confirmed_at, check_at)
       VALUES (uuidv7(), $hash, $principalId, $keyId, $personId, $name, $grants, $platform, $userAgent,
         now() + make_interval(secs => $lifetimeS), $tokens::text, CASE WHEN $tokens::text IS NOT NULL THEN now() END,
         CASE WHEN $tokens::text IS NOT NULL THEN now() + make_interval(mins => $checkEveryMinutes) END)
       RETURNING id`,
      {
        hash,
        principalId: principal.id,
        keyId,
        personId: 'personId' in who ? who.personId : null,
        name: user?.name,
        grants: user?.grants ?? (keyId === null ? {} : null),
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
  personId: string | null
  name: string | null
  grants: StatedGrants | null
  personGrants: StatedGrants
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
    `SELECT s.id, token_hash AS "tokenHash", principal_id AS "principalId", api_key_id AS "apiKeyId", person_id AS "personId",
       coalesce(user_name, p.name) AS name, user_grants AS grants, ${rolesOfPersonSql('s.person_id')} AS "personGrants",
       user_platform AS platform, least(expires_at, confirmed_at + make_interval(mins => $2)) AS "expiresAt"
     FROM sign_in_session s LEFT JOIN person p ON p.id = s.person_id
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
    const { id, apiKeyId, personId, expiresAt, tokenHash } = session
    const key = apiKeyId === null ? undefined : keys.get(apiKeyId)
    const principal = apiKeyId === null ? await principalOfUser(source, session) : key?.principal
    // A person who was removed from the last organization is signed out.
    if (!principal || (personId !== null && !principal.platform && principal.grants.size === 0)) continue
    found.set(tokenHash.toString('base64'), {
      id,
      ...(personId === null ? {} : { personId }),
      principal: { ...principal, sessionId: id },
      expiresAtMs: Math.min(expiresAt.getTime(), key?.expiresAtMs ?? Number.POSITIVE_INFINITY),
    })
  }
  return found
}

const principalOfUser = (
  source: KeySource,
  { principalId, name, grants, personGrants, platform }: StoredSession,
): Promise<Principal> =>
  userPrincipal(source, {
    id: principalId,
    name: name ?? undefined,
    grants: mergeGrants(grants ?? {}, personGrants),
    platform,
  })

/** Records a sign-in or sign-out in the audit log of every organization in which the principal holds a scope, or of the platform. */
export const auditSession = (
  connection: Queryable,
  principal: Principal,
  action: string,
  subjectId: string,
  requestId: string,
): Promise<void> =>
  recordAudit(
    connection,
    [...principal.grants.keys(), ...(principal.platform ? [null] : [])].map((organizationId) => ({
      organizationId,
      actor: principal.id,
      actorName: shownName(principal),
      action,
      subjectId,
      requestId,
    })),
  )
