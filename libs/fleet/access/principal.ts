import { insufficientScope, notFound } from '#core/errors'
import type { Scope } from '#fleet/access/scopes'

/** Who is calling the control plane, and what it may do in which organization. */
export type Principal = {
  /** `key:<id>` or `user:<issuer>|<subject>`: what audit rows, idempotency records and rate limits name. */
  id: string
  /** Every scope in every organization. */
  platform: boolean
  /** The organization the principal belongs to; null for platform keys. */
  homeOrganizationId: string | null
  grants: ReadonlyMap<string, ReadonlySet<Scope>>
  /** Whose allowance of requests it uses up, and how large that is. */
  rateLimit: { key: string; perMinute: number }
}

/** True when the principal holds the scope in that organization. */
export const holds = (principal: Principal, organizationId: string, scope: Scope): boolean =>
  principal.platform || (principal.grants.get(organizationId)?.has(scope) ?? false)

/** True when the organization exists for this principal at all: it holds at least one scope there. */
export const sees = (principal: Principal, organizationId: string): boolean =>
  principal.platform || (principal.grants.get(organizationId)?.size ?? 0) > 0

/**
 * First line of every domain verb on a known organization. Throws 404 (as for an organization that does not exist)
 * when the principal holds nothing there, and 403 `insufficient_scope` when it lacks this scope.
 */
export function authorize(principal: Principal, organizationId: string, scope: Scope): void {
  if (!sees(principal, organizationId)) throw notFound('organization', organizationId)
  if (!holds(principal, organizationId, scope)) throw insufficientScope(scope)
}

/** First line of verbs only the installation's own administrators may use. Throws 403 `insufficient_scope`. */
export function requirePlatform(principal: Principal): void {
  if (!principal.platform) throw insufficientScope('platform')
}

/**
 * The organizations in which the principal holds the scope: an id list for `= ANY($1::uuid[])`, or 'all' for the platform.
 * Throws 403 when it holds the scope nowhere, since a list over no organization is a refusal, not an empty page.
 */
export function organizationsWith(principal: Principal, scope: Scope): string[] | 'all' {
  if (principal.platform) return 'all'
  const ids = [...principal.grants].filter(([, held]) => held.has(scope)).map(([id]) => id)
  if (ids.length === 0) throw insufficientScope(scope)
  return ids
}
