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

export type IdentityProviderSettings = {
  issuer: string
  audience: string
  /** Overrides what discovery would find. */
  jwksUrl?: string | undefined
  /** The claim `{"<organization id>": ["scope or role", …]}`. */
  organizationsClaim: string
  /** Called after every request to the provider, also those that were not sent. */
  observe?: (outcome: ProviderOutcome) => void
  clock?: Clock
}

/** Checks access tokens of the operator's own identity provider. */
export type IdentityProvider = {
  issuer: string
  /** The claims of a valid token. Throws when anything about it is wrong, `ProviderUnavailableError` when that cannot be found out. */
  verify(token: string, nowMs: number): Promise<JWTPayload>
}

// Asymmetric only: a symmetric algorithm here would let a public key be used as the secret.
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const acceptedTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt'])
const clockToleranceSeconds = 5

/**
 * Keys are fetched at first use (OpenID discovery unless `jwksUrl` is given), cached for ten minutes, and fetched again
 * for an unknown `kid`, at most every 30 s. One request is under way at a time; after a failure there is a pause. Tokens
 * whose own claims are wrong are refused without asking.
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

/** Throws when the token could not be accepted whatever its signature is. */
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
 * The principal a provider's token stands for. Words that are no scope or role, `platform` among them, and
 * organizations that do not exist grant nothing. Its requests count against the first organization it names.
 */
export async function principalFromClaims(
  db: Queryable,
  plans: Plans,
  payload: JWTPayload,
  organizationsClaim: string,
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
