import { isUuid } from '#core/ids'
import { platformRequestsPerMinute } from '#fleet/access/key-lookup'
import type { Principal } from '#fleet/access/principal'
import { type RoleName, roleNames, type Scope, scopes, scopesOfRole } from '#fleet/access/scopes'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'

/** Roles and scopes by organization id, as an identity provider, its configuration or the list of people states them. */
export type StatedGrants = Readonly<Record<string, readonly string[]>>

/** All that several statements grant together. */
export function mergeGrants(...stated: readonly StatedGrants[]): StatedGrants {
  const merged = new Map<string, string[]>()
  for (const grants of stated) {
    for (const [organizationId, words] of Object.entries(grants)) {
      merged.set(organizationId, [...(merged.get(organizationId) ?? []), ...words])
    }
  }
  return Object.fromEntries(merged)
}

type User = { id: string; name?: string | undefined; grants: StatedGrants; platform: boolean }

/** The principal id of a user of an identity provider. */
export const userId = (issuer: string | undefined, subject: string | undefined): string => `user:${issuer}|${subject}`

const knownScopes: ReadonlySet<string> = new Set(scopes)
const isRole = (word: string): word is RoleName => (roleNames as readonly string[]).includes(word)

/** The scopes that words stand for. Ignores words that are neither scope nor role. */
const scopesOfWords = (words: readonly string[]): Scope[] =>
  words.flatMap((word) => (isRole(word) ? scopesOfRole[word] : knownScopes.has(word) ? [word as Scope] : []))

/**
 * The principal of a user of an identity provider. Ignores organizations that do not exist. Its requests count towards the
 * rate limit of the first organization of the grants.
 */
export async function userPrincipal(
  { db, plans }: { db: Queryable; plans: Plans },
  { id, name, grants: stated, platform }: User,
): Promise<Principal> {
  const wanted = Object.entries(stated).filter(([organizationId]) => isUuid(organizationId))
  const { rows } = await db.query<{ id: string; plan: string }>(
    'SELECT id, plan FROM organization WHERE id = ANY($1::uuid[])',
    [wanted.map(([organizationId]) => organizationId)],
  )
  const planOf = new Map(rows.map((row) => [row.id, row.plan]))
  const grants = new Map<string, ReadonlySet<Scope>>()
  for (const [given, words] of wanted) {
    const organizationId = given.toLowerCase()
    const held = scopesOfWords(words)
    if (planOf.has(organizationId) && held.length > 0) {
      // The same organization can be stated twice, in another spelling of its id.
      grants.set(organizationId, new Set([...(grants.get(organizationId) ?? []), ...held]))
    }
  }
  const home = [...grants.keys()][0] ?? null
  const perMinute = planNamed(plans, (home && planOf.get(home)) || 'free').requestsPerMinute
  return {
    id,
    ...(name === undefined ? {} : { name }),
    platform,
    homeOrganizationId: platform ? null : home,
    grants,
    rateLimit:
      platform || home === null
        ? { key: id, perMinute: platform ? platformRequestsPerMinute : perMinute }
        : { key: `org:${home}`, perMinute },
  }
}
