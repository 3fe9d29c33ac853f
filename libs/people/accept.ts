import { personActor } from '#fleet/access/person-principal'
import { recordAudit } from '#fleet/audit/record'
import { findInvitation } from '#people/invitation-links'
import { addUnconfirmedPerson, confirmedPerson } from '#people/person'
import { type Pool, transaction } from '#postgres/pool'

type Acceptance = { token: string; name: string; requestId: string }

/** Who accepted an invitation. `isConfirmed`: the address is the person's own. */
type Joined = { personId: string; organizationId: string; email: string; isConfirmed: boolean }

/**
 * Accepts an invitation with its link, which is used up. `name`: of the person, unless the person is known from another
 * organization. Throws 404 `link_invalid`.
 */
export const acceptInvitation = (pool: Pool, { token, name, requestId }: Acceptance): Promise<Joined> =>
  transaction(pool, async (connection) => {
    const invitation = await findInvitation(connection, token)
    const { organizationId, email, role, isMailed } = invitation
    const personId =
      (isMailed ? await confirmedPerson(connection, email, { name }) : undefined) ??
      (await addUnconfirmedPerson(connection, { email, name }))
    await connection.query(
      `INSERT INTO person_role (organization_id, person_id, role, invited_by, invited_by_name) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (organization_id, person_id) DO UPDATE SET role = excluded.role`,
      [organizationId, personId, role, invitation.invitedBy, invitation.invitedByName],
    )
    await connection.query('DELETE FROM invitation WHERE id = $1', [invitation.id])
    const actor = personActor(personId)
    const actorName = invitation.name ?? name
    const entry = { organizationId, actor, actorName, action: 'person.joined', subjectId: personId, requestId }
    await recordAudit(connection, [{ ...entry, detail: { email, role } }])
    return { personId, organizationId, email, isConfirmed: isMailed }
  })
