import { z } from 'zod'
import { conflict, notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, authorizeAll } from '#fleet/access/principal'
import { type RoleName, roleNames, scopesOfRole } from '#fleet/access/scopes'
import { issueSignInLink } from '#fleet/access/sign-in-links'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { queryEntities } from '#postgres/entities'
import { type Queryable, transaction } from '#postgres/pool'

/** A person with a role in an organization. */
export const personSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    email: z.string().describe('In lower case.'),
    emailConfirmed: z.boolean().describe('Whether the person used a link that was e-mailed to the address.'),
    role: z.enum(roleNames),
    invitedBy: z.string().describe('`key:…`, `person:…` or `user:…`.'),
    invitedByName: z.string().nullable(),
    joinedAt: instantOut(),
    lastUsedAt: instantOut()
      .nullable()
      .describe('When the person last used the page, to within a minute; null without a session that has not ended.'),
  })
  .meta({ id: 'Person' })

export type Person = z.infer<typeof personSchema>

const people = `
  SELECT p.id, p.name, p.email, p.is_confirmed AS "emailConfirmed", r.role, r.invited_by AS "invitedBy",
    r.invited_by_name AS "invitedByName", r.joined_at AS "joinedAt",
    (SELECT max(u.last_used_at) FROM sign_in_session s JOIN sign_in_session_use u ON u.session_id = s.id
     WHERE s.person_id = p.id AND s.expires_at > now()) AS "lastUsedAt"
  FROM person_role r JOIN person p ON p.id = r.person_id
  WHERE r.organization_id = $organizationId`

type Member = { organizationId: string; personId: string }

/** The people of an organization, in the order in which they were first known (`key:manage`). */
export async function listPeople(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<Person>> {
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  return queryPage<Person>(
    ctx.pool,
    `${people} AND ($after::uuid IS NULL OR p.id > $after) ORDER BY p.id LIMIT $limit`,
    { organizationId },
    page,
  )
}

/** Changes the role of a person, within 5 seconds (`key:manage`, and all scopes of the new role). Throws 404. */
export async function changeRole(
  ctx: FleetContext,
  { organizationId, personId, role }: Member & { role: RoleName },
): Promise<Person> {
  await authorizeMember(ctx, { organizationId, personId })
  return transaction(ctx.pool, async (connection) => {
    const before = await lockMember(connection, { organizationId, personId })
    authorizeAll(ctx.principal, organizationId, scopesOfRole[role])
    if (before.role !== role) {
      await connection.query('UPDATE person_role SET role = $3 WHERE organization_id = $1 AND person_id = $2', [
        organizationId,
        personId,
        role,
      ])
      const detail = { name: before.name, from: before.role, to: role }
      await auditObject(ctx, connection, 'person.role_changed', { organizationId, id: personId }, detail)
    }
    return { ...before, role }
  })
}

/** Removes a person from an organization. The person has no access to it within 5 seconds (`key:manage`). Throws 404. */
export async function removePerson(ctx: FleetContext, member: Member): Promise<void> {
  const { organizationId, personId } = member
  await authorizeMember(ctx, member)
  await transaction(ctx.pool, async (connection) => {
    const { name, email } = await lockMember(connection, member)
    await connection.query('DELETE FROM person_role WHERE organization_id = $1 AND person_id = $2', [
      organizationId,
      personId,
    ])
    await connection.query(
      `DELETE FROM sign_in_session WHERE person_id = $1 AND user_grants = '{}'
         AND NOT EXISTS (SELECT FROM person_role WHERE person_id = $1)`,
      [personId],
    )
    await auditObject(ctx, connection, 'person.removed', { organizationId, id: personId }, { name, email })
  })
}

/** How long a link works that an administrator passes on. */
const linkMinutes = 24 * 60

/**
 * Creates a sign-in link for a person who cannot get one by e-mail (`key:manage`, and all scopes of the person's role). Throws
 * 404, and 409 `email_confirmed` for a person with a confirmed address: the link would open the person's other organizations too.
 */
export async function createPersonLink(
  ctx: FleetContext,
  member: Member,
): Promise<{ token: string; expiresAt: string }> {
  const { organizationId, personId } = member
  await authorizeMember(ctx, member)
  return transaction(ctx.pool, async (connection) => {
    const { role, email, emailConfirmed, name } = await lockMember(connection, member)
    authorizeAll(ctx.principal, organizationId, scopesOfRole[role])
    if (emailConfirmed)
      throw conflict('email_confirmed', `${name} signs in with a link that the service sends to ${email}.`)
    await auditObject(ctx, connection, 'person.link_created', { organizationId, id: personId }, { name })
    return issueSignInLink(connection, { personId }, linkMinutes)
  })
}

const authorizeMember = (ctx: FleetContext, { organizationId, personId }: Member): Promise<void> =>
  authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'person',
    id: personId,
    find: () =>
      ctx.pool.query('SELECT FROM person_role WHERE organization_id = $1 AND person_id = $2', [
        organizationId,
        isUuid(personId) ? personId : null,
      ]),
  })

async function lockMember(db: Queryable, { organizationId, personId }: Member): Promise<Person> {
  const id = isUuid(personId) ? personId : null
  const [person] = await queryEntities<Person>(db, `${people} AND p.id = $id FOR UPDATE OF r`, { organizationId, id })
  if (!person) throw notFound('person', personId)
  return person
}
