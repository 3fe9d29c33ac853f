import { ServiceError } from '#core/errors'
import { hashToken, issueToken, parseToken } from '#core/tokens'
import type { FleetContext } from '#fleet/context'
import { queryEntity } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

const lifetimeMinutes = 10

/**
 * Creates a token with which one person can sign in within ten minutes, with the scopes of the calling API key. Throws 403
 * for callers that do not send an API key: an access token, a session or a user cannot make an access that lasts longer.
 */
export async function createSignInLink({
  pool,
  principal,
}: Pick<FleetContext, 'pool' | 'principal'>): Promise<{ token: string; expiresAt: string }> {
  const keyId = principal.id.startsWith('key:') ? principal.id.slice('key:'.length) : undefined
  if (keyId === undefined || principal.sessionId !== undefined || principal.byAccessToken)
    throw new ServiceError(
      403,
      'api_key_required',
      'Only an API key can create a sign-in link. Send the key itself instead of a session or an access token.',
    )
  const { token, hash } = issueToken('fll')
  const { expiresAt } = await queryEntity<{ expiresAt: string }>(
    pool,
    `INSERT INTO sign_in_link (token_hash, api_key_id, expires_at)
     VALUES ($hash, $keyId, now() + interval '${lifetimeMinutes} minutes') RETURNING expires_at AS "expiresAt"`,
    { hash, keyId },
  )
  return { token, expiresAt }
}

/** Whom a link signs in. `email`: the link was e-mailed to this address. */
type Linked = { keyId: string } | { personId: string } | { email: string }

/** Creates a link for a person, or for whoever receives it at an address. Returns its token. */
export async function issueSignInLink(
  db: Queryable,
  linked: Exclude<Linked, { keyId: string }>,
  minutes: number,
): Promise<{ token: string; expiresAt: string }> {
  const { token, hash } = issueToken('fll')
  const { personId = null, email = null } = { personId: undefined, email: undefined, ...linked }
  const { expiresAt } = await queryEntity<{ expiresAt: string }>(
    db,
    `INSERT INTO sign_in_link (token_hash, person_id, email, expires_at)
     VALUES ($hash, $personId, $email, now() + make_interval(mins => $minutes)) RETURNING expires_at AS "expiresAt"`,
    { hash, personId, email, minutes },
  )
  return { token, expiresAt }
}

/** Uses a link up. Returns whom it signs in, or undefined if the link is unknown, used or expired. */
export async function takeSignInLink(db: Queryable, token: string): Promise<Linked | undefined> {
  if (parseToken(token)?.prefix !== 'fll') return undefined
  const { rows } = await db.query<{ keyId: string | null; personId: string | null; email: string | null }>(
    `DELETE FROM sign_in_link WHERE token_hash = $1 AND expires_at > now()
     RETURNING api_key_id AS "keyId", person_id AS "personId", email`,
    [hashToken(token)],
  )
  const { keyId, personId, email } = rows[0] ?? { keyId: null, personId: null, email: null }
  if (keyId !== null) return { keyId }
  if (personId !== null) return { personId }
  return email === null ? undefined : { email }
}
