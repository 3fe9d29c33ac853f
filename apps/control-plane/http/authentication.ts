import { hash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { parseToken } from '#core/tokens'
import type { AccessTokens } from '#fleet/access/access-tokens'
import { type IdentityProvider, principalFromClaims } from '#fleet/access/identity-provider'
import type { FoundKey } from '#fleet/access/key-lookup'
import type { Principal } from '#fleet/access/principal'
import { ProviderUnavailableError } from '#fleet/access/provider-fetch'
import type { Plans } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'
import type { KeyDirectory } from './key-directory.ts'
import type { LastUses } from './last-uses.ts'

export type Authenticator = {
  /**
   * The principal of an `Authorization` header. `address`: the client's address. Throws 401 with
   * `WWW-Authenticate` (RFC 6750), and 429 or 503 if the credentials cannot be checked now.
   */
  authenticate(authorization: string | undefined, address?: string): Promise<Principal>
  /** The principal of the cookie of a sign-in session. Throws like `authenticate`. */
  authenticateSession(token: string, address?: string): Promise<Principal>
  /** Removes a key, a session, the sessions of a person, or all, from the cache, so that the next request reads the database. */
  forget(id?: string): void
}

type Parts = {
  db: Queryable
  plans: Plans
  clock: Clock
  keys: KeyDirectory
  tokens: AccessTokens
  lastUses: LastUses
  provider?: { identity: IdentityProvider; organizationsClaim: string } | undefined
}

const providerTokenLifetimeMs = 60_000
const maxCached = 50_000

/**
 * Authenticates callers. Caches API keys and tokens issued for them for at most 5 s (`KeyDirectory`), and an identity
 * provider's tokens until min(exp, 60 s). `forget` applies a revocation immediately.
 */
export function createAuthenticator(parts: Parts): Authenticator {
  const { clock, keys, tokens, lastUses, provider } = parts
  const providerTokens = new LRUCache<string, Principal>({ max: maxCached, perf: { now: clock } })

  const principalOf = (key: FoundKey | undefined): Principal => {
    if (!key) throw unauthenticated('The key is unknown, expired or revoked.')
    lastUses.noteKey(key.id)
    return key.principal
  }
  const byOwnToken = async (token: string, address: string | undefined): Promise<Principal> => {
    const { keyId } = await tokens.verify(token, clock()).catch(() => refuseToken())
    return { ...principalOf(await keys.byId(keyId, address)), byAccessToken: true }
  }
  const byProviderToken = async (token: string): Promise<Principal> => {
    if (!provider) return refuseToken()
    const name = hash('sha256', token, 'base64')
    const known = providerTokens.get(name)
    if (known) return known
    const payload = await provider.identity.verify(token, clock()).catch(refuseOrExcuse)
    const principal = await principalFromClaims(parts, { payload, organizationsClaim: provider.organizationsClaim })
    const lifetimeMs = Math.min(providerTokenLifetimeMs, (payload.exp ?? 0) * 1000 - clock())
    if (lifetimeMs > 0) providerTokens.set(name, principal, { ttl: lifetimeMs })
    return principal
  }

  return {
    async authenticate(authorization, address) {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      if (token === undefined) throw unauthenticated()
      const parsed = parseToken(token)
      if (parsed?.prefix === 'flk') return principalOf(await keys.byToken(token, address))
      if (parsed?.prefix === 'fls' || parsed?.prefix === 'fll')
        throw unauthenticated('This token is for signing in to the web page, not for the API.')
      if (parsed) throw unauthenticated('This token is for devices, not for the API.')
      return issuerOf(token) === tokens.issuer ? byOwnToken(token, address) : byProviderToken(token)
    },
    async authenticateSession(token, address) {
      const session = parseToken(token)?.prefix === 'fls' ? await keys.bySession(token, address) : undefined
      if (!session) throw unauthenticated('The session has ended. Sign in again.')
      lastUses.noteSession(session.id)
      return session.principal
    },
    forget(id) {
      keys.forget(id)
      if (id === undefined) providerTokens.clear()
    },
  }
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return refuseToken()
  }
}

/** Throws 503 instead of 401 if the provider is unavailable, because the token may be valid. */
function refuseOrExcuse(error: unknown): never {
  if (!(error instanceof ProviderUnavailableError)) refuseToken()
  throw new ServiceError(503, 'identity_provider_unavailable', 'The identity provider does not respond. Retry later.', {
    headers: { 'Retry-After': '5' },
  })
}

function refuseToken(): never {
  throw unauthenticated('The token is malformed, expired, revoked or not meant for this service.')
}

function unauthenticated(problem?: string): ServiceError {
  const challenge =
    problem === undefined ? 'Bearer realm="routerfleet"' : 'Bearer realm="routerfleet", error="invalid_token"'
  return new ServiceError(
    401,
    'unauthenticated',
    problem ?? 'Send an API key or access token as "Authorization: Bearer …".',
    {
      headers: { 'WWW-Authenticate': challenge },
    },
  )
}
