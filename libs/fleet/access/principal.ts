import { insufficientScope, notFound } from '#core/errors'
import type { Scope } from '#fleet/access/scopes'

/** The caller of the control plane, with its scopes in each organization. */
export type Principal = {
  /** `key:<id>`, `person:<id>` or `user:<issuer>|<subject>`, as in audit rows, idempotency records and rate limits. */
  id: string
  /** The name of the API key, the person or the user. */
  name?: string
  /** The sign-in session of a person on the web page; absent for callers with their own credentials. */
  sessionId?: string
  /** True for a short-lived access token that was issued for an API key. */
  byAccessToken?: true
  /** Holds every scope in every organization. */
  platform: boolean
  /** The organization the principal belongs to; null for platform keys. */
  homeOrganizationId: string | null
  grants: ReadonlyMap<string, ReadonlySet<Scope>>
  /** The counter of its requests, and the limit. */
  rateLimit: { key: string; perMinute: number }
}

/** True when the principal holds the scope in that organization. */
export const holds = (principal: Principal, organizationId: string, scope: Scope): boolean =>
  principal.platform || (principal.grants.get(organizationId)?.has(scope) ?? false)

/** True when the principal holds at least one scope in that organization. Otherwise the organization is 404 for it. */
export const sees = (principal: Principal, organizationId: string): boolean =>
  principal.platform || (principal.grants.get(organizationId)?.size ?? 0) > 0

/** The organizations in which the principal holds a scope, for `$n::uuid[]`; null means all (platform). */
export const visibleOrganizations = (principal: Principal): string[] | null =>
  principal.platform ? null : [...principal.grants.keys()]

/**
 * First line of a verb on an organization. Throws 404, as for an organization that does not exist, when the principal holds
 * no scope there, and 403 `insufficient_scope` when it lacks this scope.
 */
export function authorize(principal: Principal, organizationId: string, scope: Scope): void {
  if (!sees(principal, organizationId)) throw notFound('organization', organizationId)
  if (!holds(principal, organizationId, scope)) throw insufficientScope(scope)
}

/** Like `authorize`, for a verb that requires several scopes. The 403 names all that are missing. */
export function authorizeAll(principal: Principal, organizationId: string, scopes: readonly Scope[]): void {
  if (!sees(principal, organizationId)) throw notFound('organization', organizationId)
  const missing = scopes.filter((scope) => !holds(principal, organizationId, scope))
  if (missing.length > 0) throw insufficientScope(...missing)
}

/** First line of a verb for platform administrators. Throws 403 `insufficient_scope`. */
export function requirePlatform(principal: Principal): void {
  if (!principal.platform) throw insufficientScope('platform')
}

/**
 * Returns the ids of the organizations in which the principal holds the scope, or 'all' for the platform. Throws 403 when it
 * holds the scope in none.
 */
export function organizationsWith(principal: Principal, scope: Scope): string[] | 'all' {
  if (principal.platform) return 'all'
  const ids = [...principal.grants].filter(([, held]) => held.has(scope)).map(([id]) => id)
  if (ids.length === 0) throw insufficientScope(scope)
  return ids
}
