import { decodeJwt, errors } from 'jose'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { hashToken, parseToken } from '#core/tokens'
import type { AccessTokens } from '#fleet/access-tokens'
import { type IdentityProvider, principalFromClaims } from '#fleet/identity-provider'
import { findKeyByHash, findKeyById } from '#fleet/key-lookup'
import type { Plans } from '#fleet/plans'
import type { Principal } from '#fleet/principal'
import type { Queryable } from '#postgres/pool'

export type Authenticator = {
  /** The principal of an `Authorization` header. Throws 401 with `WWW-Authenticate` (RFC 6750). */
  authenticate(authorization: string | undefined): Promise<Principal>
  /** Forgets what is known of a key, or of all keys, so that the next request asks the database. */
  forget(keyId?: string): void
}

type Parts = {
  db: Queryable
  plans: Plans
  clock: Clock
  tokens: AccessTokens
  provider?: { identity: IdentityProvider; organizationsClaim: string } | undefined
}

const keyLifetimeMs = 5_000
const providerTokenLifetimeMs = 60_000
const maxCached = 50_000

type Cached = { principal: Principal; untilMs: number }

/**
 * Finds out who is calling. Answers are cached for at most 5 s for keys and tokens derived from them, and until
 * min(exp, 60 s) for an identity provider's tokens; revocations are pushed through `forget`.
 */
export function createAuthenticator(parts: Parts): Authenticator {
  const { db, plans, clock, tokens, provider } = parts
  const cache = new Map<string, Cached>()

  const remember = (name: string, principal: Principal, untilMs: number): Principal => {
    if (cache.size >= maxCached) cache.clear()
    cache.set(name, { principal, untilMs })
    return principal
  }
  const cached = (name: string): Principal | undefined => {
    const entry = cache.get(name)
    if (entry && entry.untilMs > clock()) return entry.principal
    if (entry) cache.delete(name)
    return undefined
  }
  const rememberKey = (name: string, found: Awaited<ReturnType<typeof findKeyById>>): Principal => {
    if (!found) throw unauthenticated('The key is unknown, expired or revoked.')
    const untilMs = Math.min(clock() + keyLifetimeMs, found.expiresAtMs ?? Number.POSITIVE_INFINITY)
    return remember(name, found.principal, untilMs)
  }

  const byKey = async (token: string): Promise<Principal> => {
    const hash = hashToken(token)
    const name = `hash:${hash.toString('hex')}`
    return cached(name) ?? rememberKey(name, await findKeyByHash(db, plans, hash))
  }
  const byOwnToken = async (token: string): Promise<Principal> => {
    const { keyId } = await tokens.verify(token, clock()).catch(() => refuseToken())
    return cached(`id:${keyId}`) ?? rememberKey(`id:${keyId}`, await findKeyById(db, plans, keyId))
  }
  const byProviderToken = async (token: string): Promise<Principal> => {
    if (!provider) return refuseToken()
    const name = `jwt:${hashToken(token).toString('hex')}`
    const known = cached(name)
    if (known) return known
    const payload = await provider.identity.verify(token, clock()).catch(refuseOrExcuse)
    const principal = await principalFromClaims(db, plans, payload, provider.organizationsClaim)
    return remember(name, principal, Math.min(clock() + providerTokenLifetimeMs, (payload.exp ?? 0) * 1000))
  }

  return {
    async authenticate(authorization) {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      if (token === undefined) throw unauthenticated()
      const parsed = parseToken(token)
      if (parsed?.prefix === 'flk') return byKey(token)
      if (parsed) throw unauthenticated('This token is for devices, not for the API.')
      return issuerOf(token) === tokens.issuer ? byOwnToken(token) : byProviderToken(token)
    },
    forget(keyId) {
      if (keyId === undefined) return cache.clear()
      for (const [name, entry] of cache) if (entry.principal.id === `key:${keyId}`) cache.delete(name)
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

/** A provider that cannot be asked is our trouble, not the caller's: its token may well be good. */
function refuseOrExcuse(error: unknown): never {
  const unreachable = error instanceof TypeError || error instanceof errors.JWKSTimeout || isTimeout(error)
  if (!unreachable) refuseToken()
  throw new ServiceError(
    503,
    'identity_provider_unavailable',
    'The identity provider does not answer. Try again shortly.',
    {
      headers: { 'Retry-After': '5' },
    },
  )
}

const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError'

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
