import type { Principal } from '#fleet/access/principal'
import type { Queryable } from '#postgres/pool'

/** SQL: the name of an actor in an organization, as it last changed something there; null for the platform and unknown ones. */
export const actorNameSql = (organizationId: string, actor: string): string =>
  `(SELECT n.name FROM actor_name n WHERE n.organization_id = ${organizationId} AND n.actor = ${actor})`

/** The name under which organizations see a caller. The names of platform keys and administrators are not theirs to see. */
export const shownName = ({ platform, name }: Principal): string | undefined => (platform ? undefined : name)

/** The names of these actors in the organization, by actor. */
export async function actorNames(
  db: Queryable,
  organizationId: string,
  actors: readonly string[],
): Promise<Map<string, string>> {
  if (actors.length === 0) return new Map()
  const { rows } = await db.query<{ actor: string; name: string }>(
    'SELECT actor, name FROM actor_name WHERE organization_id = $1 AND actor = ANY ($2::text[])',
    [organizationId, [...new Set(actors)]],
  )
  return new Map(rows.map(({ actor, name }) => [actor, name]))
}

type NamedActor = { organizationId: string; actor: string; name: string }

/**
 * Stores the names of actors, in their transaction. Writes, and so waits for others, only for a name that is new: two requests of
 * one caller do not wait for each other.
 */
export async function rememberActors(connection: Queryable, actors: readonly NamedActor[]): Promise<void> {
  if (actors.length === 0) return
  await connection.query(
    `INSERT INTO actor_name (organization_id, actor, name)
     SELECT DISTINCT ON (given.organization_id, given.actor) given.*
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS given (organization_id, actor, name)
     WHERE NOT EXISTS (SELECT FROM actor_name known WHERE known.organization_id = given.organization_id
       AND known.actor = given.actor AND known.name = given.name)
     ORDER BY given.organization_id, given.actor
     ON CONFLICT (organization_id, actor) DO UPDATE SET name = excluded.name`,
    [
      actors.map(({ organizationId }) => organizationId),
      actors.map(({ actor }) => actor),
      actors.map(({ name }) => name),
    ],
  )
}

/** Stores the name of a caller, before a statement that returns it or that writes audit rows itself. */
export function rememberCaller(connection: Queryable, principal: Principal, organizationId: string): Promise<void> {
  const name = shownName(principal)
  return rememberActors(connection, name === undefined ? [] : [{ organizationId, actor: principal.id, name }])
}
