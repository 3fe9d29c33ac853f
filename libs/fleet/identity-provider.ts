import { createRemoteJWKSet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'
import { isUuid } from '#core/ids'
import { type Plans, planNamed } from '#fleet/plans'
import type { Principal } from '#fleet/principal'
import { type RoleName, roleNames, type Scope, scopes, scopesOfRole } from '#fleet/scopes'
import type { Queryable } from '#postgres/pool'

export type IdentityProviderSettings = {
  issuer: string
  audience: string
  /** Overrides what discovery would find. */
  jwksUrl?: string | undefined
  /** The claim `{"<organization id>": ["scope or role", …]}`. */
  organizationsClaim: string
}

/** Checks access tokens of the operator's own identity provider. */
export type IdentityProvider = {
  issuer: string
  /** The claims of a valid token. Throws when anything about it is wrong, or when the provider cannot be asked. */
  verify(token: string, nowMs: number): Promise<JWTPayload>
}

// Asymmetric only: a symmetric algorithm here would let a public key be used as the secret.
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const acceptedTypes = new Set(['at+jwt', 'application/at+jwt', 'jwt'])
const clockToleranceSeconds = 5

/** Keys are fetched at first use (OpenID discovery unless `jwksUrl` is given), cached, and fetched again for an unknown `kid`. */
export function createIdentityProvider(settings: IdentityProviderSettings): IdentityProvider {
  let keys: JWTVerifyGetKey | undefined
  return {
    issuer: settings.issuer,
    async verify(token, nowMs) {
      keys ??= createRemoteJWKSet(new URL(settings.jwksUrl ?? (await discoverJwksUrl(settings.issuer))))
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer: settings.issuer,
        audience: settings.audience,
        algorithms,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(nowMs),
      })
      if (!acceptedTypes.has((protectedHeader.typ ?? '').toLowerCase())) throw new Error('wrong token type')
      return payload
    },
  }
}

async function discoverJwksUrl(issuer: string): Promise<string> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const answer = await fetch(address, { signal: AbortSignal.timeout(5_000), redirect: 'error' })
  const document = z.object({ issuer: z.literal(issuer), jwks_uri: z.url() }).parse(await answer.json())
  return document.jwks_uri
}

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
