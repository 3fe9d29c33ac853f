import { z } from 'zod'
import { ServiceError } from '#core/errors'
import { pageAddress } from '#core/page-address'
import { instantOut } from '#core/schemas'
import { hashToken, issueToken, parseToken } from '#core/tokens'
import { type RoleName, roleNames } from '#fleet/access/scopes'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/**
 * Creates a link with which an invitation can be accepted, and returns its address on the page. After the #, the token is neither
 * sent to a server nor written to its logs. Only its hash is stored. `isMailed`: it is sent to the invited address, so that
 * whoever uses it owns the address.
 */
export async function issueInvitationLink(
  db: Queryable,
  { invitationId, pageUrl, isMailed }: { invitationId: string; pageUrl: string; isMailed: boolean },
): Promise<string> {
  const { token, hash } = issueToken('fli')
  await db.query('INSERT INTO invitation_link (token_hash, invitation_id, is_mailed) VALUES ($1, $2, $3)', [
    hash,
    invitationId,
    isMailed,
  ])
  return pageAddress(pageUrl, `invitation?link=${token}`)
}

/** What the link of an invitation is about. */
export const linkedInvitationSchema = z
  .object({
    organizationName: z.string(),
    email: z.string(),
    role: z.enum(roleNames),
    invitedByName: z.string().nullable(),
    name: z.string().nullable().describe('The name of the person, if the person is in another organization already.'),
    expiresAt: instantOut(),
  })
  .meta({ id: 'LinkedInvitation' })

/** An invitation as its link finds it. */
export type FoundInvitation = z.infer<typeof linkedInvitationSchema> & {
  id: string
  organizationId: string
  role: RoleName
  invitedBy: string
  isMailed: boolean
}

/** Finds the invitation of a link, and locks it. Throws 404 `link_invalid` for an unknown, used or expired link. */
export async function findInvitation(db: Queryable, token: string): Promise<FoundInvitation> {
  const isWellFormed = parseToken(token)?.prefix === 'fli'
  const [found] = isWellFormed
    ? await queryEntities<FoundInvitation>(
        db,
        `SELECT i.id, i.organization_id AS "organizationId", o.name AS "organizationName", i.email, i.role,
           i.invited_by AS "invitedBy", i.invited_by_name AS "invitedByName", i.expires_at AS "expiresAt",
           l.is_mailed AS "isMailed",
           (SELECT p.name FROM person p WHERE l.is_mailed AND p.is_confirmed AND p.email = i.email) AS name
         FROM invitation_link l JOIN invitation i ON i.id = l.invitation_id JOIN organization o ON o.id = i.organization_id
         WHERE l.token_hash = $hash AND i.expires_at > now() FOR UPDATE OF i`,
        { hash: hashToken(token) },
      )
    : []
  if (!found)
    throw new ServiceError(
      404,
      'link_invalid',
      'The invitation was accepted, withdrawn or replaced, or it has expired. Ask for a new one.',
    )
  return found
}

/** What a link is about. Changes nothing. Throws 404 `link_invalid`. */
export async function readInvitationLink(
  db: Queryable,
  token: string,
): Promise<z.infer<typeof linkedInvitationSchema>> {
  const { organizationName, email, role, invitedByName, name, expiresAt } = await findInvitation(db, token)
  return { organizationName, email, role, invitedByName, name, expiresAt }
}
