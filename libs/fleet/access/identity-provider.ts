import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { z } from 'zod'
import { type Clock, systemClock } from '#core/clock'
import { isUuid } from '#core/ids'
import type { Principal } from '#fleet/access/principal'
import { createProviderFetch, type ProviderOutcome } from '#fleet/access/provider-fetch'
import { type RoleName, roleNames, type Scope, scopes, scopesOfRole } from '#fleet/access/scopes'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'

type IdentityProviderSettings = {
  issuer: string
  audience: string
  /** Address of the keys, instead of OpenID discovery. */
  jwksUrl?: string | undefined
  /** Name of the claim `{"<organization id>": ["scope or role", …]}`. */
  organizationsClaim: string
  /** Called after every request to the provider, also for those that were suppressed. */
  observe?: (outcome: ProviderOutcome) => void
  clock?: Clock
}

/** Verifies access tokens of the operator's identity provider. */
export type IdentityProvider = {
  issuer: string
  /** Returns the claims of a valid token. Throws for an invalid one, and `ProviderUnavailableError` when the keys cannot be fetched. */
  verify(token: string, nowMs: number): Promise<JWTPayload>
}

// Asymmetric only: with a symmetric algorithm, the public key could be used as the secret.
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const acceptedTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt'])
const clockToleranceSeconds = 5

/**
 * Creates a verifier. Fetches keys at first use (by OpenID discovery unless `jwksUrl` is given), caches them for ten
 * minutes, and fetches them again for an unknown `kid`, at most every 30 s. One request runs at a time, with a pause after
 * a failure. Tokens with wrong claims are refused without a request.
 */
export function createIdentityProvider(settings: IdentityProviderSettings): IdentityProvider {
  const { clock = systemClock, observe = () => {} } = settings
  const fetchDocument = createProviderFetch(clock, observe)
  let keys: Promise<JWTVerifyGetKey> | undefined
  const discoverJwksUrl = async (): Promise<string> => {
    const prefix = settings.issuer.endsWith('/') ? settings.issuer.slice(0, -1) : settings.issuer
    const discovery = z.object({ issuer: z.literal(settings.issuer), jwks_uri: z.url() })
    const answer = await fetchDocument(`${prefix}/.well-known/openid-configuration`, discovery)
    return discovery.parse(await answer.json()).jwks_uri
  }
  const openKeys = async (): Promise<JWTVerifyGetKey> => {
    const url = settings.jwksUrl ?? (await discoverJwksUrl())
    return createRemoteJWKSet(new URL(url), { [customFetch]: (address, init) => fetchDocument(address, keySet, init) })
  }
  return {
    issuer: settings.issuer,
    async verify(token, nowMs) {
      refuseByClaims(token, settings, nowMs)
      keys ??= openKeys().catch((error: unknown) => {
        keys = undefined
        throw error
      })
      const { payload } = await jwtVerify(token, await keys, {
        issuer: settings.issuer,
        audience: settings.audience,
        algorithms,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(nowMs),
      })
      return payload
    },
  }
}

/** Throws when the token is invalid regardless of its signature. */
function refuseByClaims(token: string, { issuer, audience }: IdentityProviderSettings, nowMs: number): void {
  const { alg, typ } = decodeProtectedHeader(token)
  if (alg === undefined || !algorithms.includes(alg)) throw new Error('wrong algorithm')
  if (!acceptedTypes.has((typ ?? '').toLowerCase())) throw new Error('wrong token type')
  const { iss, aud, exp, sub } = decodeJwt(token)
  if (iss !== issuer || ![aud ?? []].flat().includes(audience)) throw new Error('wrong issuer or audience')
  const isExpired = exp === undefined || exp + clockToleranceSeconds <= nowMs / 1_000
  if (isExpired || sub === undefined) throw new Error('expired, or without a subject')
}

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) })

const claimSchema = z.record(z.string(), z.array(z.string()))
const knownScopes: ReadonlySet<string> = new Set(scopes)
const isRole = (word: string): word is RoleName => (roleNames as readonly string[]).includes(word)

/**
 * Returns the principal of a provider's token. Ignores organizations that do not exist, and words that are neither scope
 * nor role, such as `platform`. Its requests count towards the rate limit of the first organization in the claim.
 */
export async function principalFromClaims(
  { db, plans }: { db: Queryable; plans: Plans },
  { payload, organizationsClaim }: { payload: JWTPayload; organizationsClaim: string },
): Promise<Principal> {
  const claimed = claimSchema.safeParse(payload[organizationsClaim] ?? {})
  const wanted = Object.entries(claimed.success ? claimed.data : {}).filter(([id]) => isUuid(id))
  const { rows } = await db.query<{ id: string; plan: string }>(
    'SELECT id, plan FROM organization WHERE id = ANY($1::uuid[])',
    [wanted.map(([id]) => id)],
  )
  const planOf = new Map(rows.map((row) => [row.id, row.plan]))
  const grants = new Map<string, ReadonlySet<Scope>>()
  for (const [id, words] of wanted) {
    const held = words.flatMap((word) =>
      isRole(word) ? scopesOfRole[word] : knownScopes.has(word) ? [word as Scope] : [],
    )
    if (planOf.has(id.toLowerCase()) && held.length > 0) grants.set(id.toLowerCase(), new Set(held))
  }
  const home = [...grants.keys()][0] ?? null
  const id = `user:${payload.iss}|${payload.sub}`
  return {
    id,
    platform: false,
    homeOrganizationId: home,
    grants,
    rateLimit: {
      key: home === null ? id : `org:${home}`,
      perMinute: planNamed(plans, (home && planOf.get(home)) || 'free').requestsPerMinute,
    },
  }
}
