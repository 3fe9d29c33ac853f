import { newId } from '#core/ids'
import { lockName } from '#postgres/name-lock'
import type { Connection } from '#postgres/pool'

/** Someone who joins: `email` in lower case. */
type Joining = { email: string; name: string }

/** Stores a person who showed no proof of owning the address, and so belongs to one organization only. Returns the id. */
export async function addUnconfirmedPerson(connection: Connection, { email, name }: Joining): Promise<string> {
  const id = newId()
  await connection.query('INSERT INTO person (id, email, name, is_confirmed) VALUES ($1, $2, $3, false)', [
    id,
    email,
    name,
  ])
  return id
}

/**
 * The person with an address whose owner is known to act, because a link was e-mailed there. People with this address who were
 * not confirmed become this person, and their sessions and links end: someone else could have them. Returns the id, or undefined
 * if there is no such person and none `joins`.
 */
export async function confirmedPerson(
  connection: Connection,
  email: string,
  joins?: { name: string },
): Promise<string | undefined> {
  await lockName(connection, `person:${email}`)
  const { rows } = await connection.query<{ id: string; isConfirmed: boolean }>(
    `SELECT id, is_confirmed AS "isConfirmed" FROM person WHERE email = $1 ORDER BY is_confirmed DESC, id FOR UPDATE`,
    [email],
  )
  const [kept, ...others] = rows
  if (!kept) {
    if (!joins) return undefined
    const id = newId()
    await connection.query('INSERT INTO person (id, email, name, is_confirmed) VALUES ($1, $2, $3, true)', [
      id,
      email,
      joins.name,
    ])
    return id
  }
  if (!kept.isConfirmed) await endAccess(connection, kept.id)
  await connection.query('UPDATE person SET is_confirmed = true, joined_at = now() WHERE id = $1', [kept.id])
  for (const { id } of others) await mergeInto(connection, kept.id, id)
  return kept.id
}

async function endAccess(connection: Connection, personId: string): Promise<void> {
  await connection.query('DELETE FROM sign_in_session WHERE person_id = $1', [personId])
  await connection.query('DELETE FROM sign_in_link WHERE person_id = $1', [personId])
}

/** Gives the roles of a person to another one. What else belongs to the person ends with it. */
async function mergeInto(connection: Connection, keptId: string, personId: string): Promise<void> {
  await connection.query(
    `UPDATE person_role r SET person_id = $1 WHERE person_id = $2
       AND NOT EXISTS (SELECT FROM person_role own WHERE own.person_id = $1 AND own.organization_id = r.organization_id)`,
    [keptId, personId],
  )
  await connection.query('DELETE FROM person WHERE id = $1', [personId])
}
