import type { KeySource } from '#fleet/access/key-lookup'
import type { Principal } from '#fleet/access/principal'
import { type StatedGrants, userPrincipal } from '#fleet/access/user-principal'
import type { Queryable } from '#postgres/pool'

/** The principal id of a person who signs in with links. */
export const personActor = (personId: string): string => `person:${personId}`

/** The person with this principal id, or undefined for other callers. */
export const personIdOf = (principalId: string): string | undefined =>
  principalId.startsWith('person:') ? principalId.slice('person:'.length) : undefined

/** SQL: the roles of the person with this id, as `StatedGrants`. A column must have its table's name before it. */
export const rolesOfPersonSql = (personId: string): string =>
  `(SELECT coalesce(jsonb_object_agg(r.organization_id, jsonb_build_array(r.role)), '{}')
    FROM person_role r WHERE r.person_id = ${personId})`

/** The roles of a person by organization; none without a person. */
export async function rolesOfPerson(db: Queryable, personId: string | null): Promise<StatedGrants> {
  if (personId === null) return {}
  const { rows } = await db.query<{ roles: StatedGrants }>(`SELECT ${rolesOfPersonSql('$1')} AS roles`, [personId])
  return rows[0]?.roles ?? {}
}

/** The principal of a person, or undefined if the person is in no organization. */
export async function personPrincipal(source: KeySource, personId: string): Promise<Principal | undefined> {
  const { rows } = await source.db.query<{ name: string; grants: StatedGrants }>(
    `SELECT p.name, ${rolesOfPersonSql('p.id')} AS grants FROM person p WHERE p.id = $1`,
    [personId],
  )
  if (!rows[0]) return undefined
  const principal = await userPrincipal(source, { id: personActor(personId), platform: false, ...rows[0] })
  return principal.grants.size > 0 ? principal : undefined
}

/** The person whose address the identity provider confirmed, if there is one. */
export async function confirmedPersonWith(db: Queryable, email: string): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>('SELECT id FROM person WHERE email = lower($1) AND is_confirmed', [
    email,
  ])
  return rows[0]?.id
}
