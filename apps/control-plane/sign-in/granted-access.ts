import { z } from 'zod'
import { mergeGrants, type StatedGrants } from '#fleet/access/user-principal'

const grantsSchema = z.record(z.string(), z.array(z.string()))

/** What a group of the identity provider may do: everything, or roles and scopes in organizations. */
export const groupRolesSchema = z.record(z.string(), z.union([z.literal('platform'), grantsSchema]))

type GroupRoles = z.infer<typeof groupRolesSchema>

export type ClaimNames = { organizationsClaim: string; groupsClaim: string; groupRoles: GroupRoles }

const namesSchema = z.union([z.array(z.string()), z.string().transform((name) => [name])])

/**
 * The access that a user's claims grant: the roles and scopes that the organizations claim lists, and those that the
 * configuration assigns to the user's groups. Claims of another form grant nothing.
 */
export function grantedAccess(
  claims: Record<string, unknown>,
  { organizationsClaim, groupsClaim, groupRoles }: ClaimNames,
): { grants: StatedGrants; platform: boolean } {
  const listed = grantsSchema.safeParse(claims[organizationsClaim])
  const groups = namesSchema.safeParse(claims[groupsClaim])
  const roles = new Map(Object.entries(groupRoles))
  const assigned = (groups.data ?? []).flatMap((group) => [roles.get(group) ?? {}])
  const grants = mergeGrants(listed.data ?? {}, ...assigned.filter((one) => one !== 'platform'))
  return { grants, platform: assigned.includes('platform') }
}

/** The name of a user, for the page and for lists. */
export function displayName({ name, preferred_username, email }: Record<string, unknown>): string | undefined {
  const chosen = [name, preferred_username, email].find((word) => typeof word === 'string' && word !== '')
  return typeof chosen === 'string' ? chosen.slice(0, 200) : undefined
}
