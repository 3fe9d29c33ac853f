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
import type { Principal } from '#fleet/access/principal'
import { createProviderFetch, type ProviderOutcome } from '#fleet/access/provider-fetch'
import { userId, userPrincipal } from '#fleet/access/user-principal'
import type { Plans } from '#fleet/organizations/plans'
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

/**
 * Returns the principal of a provider's token. Ignores organizations that do not exist, and words that are neither scope
 * nor role, such as `platform`.
 */
export function principalFromClaims(
  source: { db: Queryable; plans: Plans },
  { payload, organizationsClaim }: { payload: JWTPayload; organizationsClaim: string },
): Promise<Principal> {
  const claimed = claimSchema.safeParse(payload[organizationsClaim] ?? {})
  return userPrincipal(source, {
    id: userId(payload.iss, payload.sub),
    grants: claimed.success ? claimed.data : {},
    platform: false,
  })
}
