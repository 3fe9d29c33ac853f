import { conflict, notFound, ServiceError } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeFound } from '#fleet/access/authorize-object'
import { authorize, authorizeAll } from '#fleet/access/principal'
import { type RoleName, scopesOfRole } from '#fleet/access/scopes'
import { shownName } from '#fleet/audit/actor-names'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { inOrganization } from '#fleet/verbs'
import { hasMailServerSql } from '#messages/mail-server'
import { type Invitation, invitationColumns, invitationDays } from '#people/invitation'
import { issueInvitationLink } from '#people/invitation-links'
import { queryEntity } from '#postgres/entities'
import { type Connection, transaction } from '#postgres/pool'

type NewInvitation = { organizationId: string; email: string; role: RoleName; pageUrl: string }
type CreatedInvitation = Invitation & { url: string | null }

/** Between two messages to an address of an organization. */
const pauseMs = 60_000

/**
 * Invites a person to an organization (`key:manage`, and all scopes of the role). A message with the link is due at once if a
 * mail server is set up; else `url` is the link. Replaces an earlier invitation of the address, whose links stop working. Throws
 * 404, 403, 409 `person_exists`, `address_refused` or `limit_reached`, and 429 `invitation_too_soon` within a minute of the last
 * message.
 */
export async function invite(ctx: FleetContext, invitation: NewInvitation): Promise<CreatedInvitation> {
  const { organizationId, role, pageUrl } = invitation
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  // Nobody can give more than they hold.
  authorizeAll(ctx.principal, organizationId, scopesOfRole[role])
  const email = invitation.email.toLowerCase()
  return transaction(ctx.pool, async (connection) => {
    await connection.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `invitation:${organizationId}:${email}`,
    ])
    const hasMail = await requireInvitable(connection, { organizationId, email })
    await connection.query('DELETE FROM invitation WHERE organization_id = $1 AND email = $2', [organizationId, email])
    const created = await queryEntity<Invitation>(
      connection,
      `INSERT INTO invitation
         (id, organization_id, email, role, invited_by, invited_by_name, expires_at, base_url, next_attempt_at)
       VALUES ($id, $organizationId, $email, $role, $invitedBy, $invitedByName, now() + make_interval(days => $days),
         $pageUrl::text, CASE WHEN $pageUrl::text IS NOT NULL THEN now() END)
       RETURNING ${invitationColumns}`,
      {
        ...{ id: newId(), organizationId, email, role, days: invitationDays, pageUrl: hasMail ? pageUrl : null },
        ...{ invitedBy: ctx.principal.id, invitedByName: shownName(ctx.principal) },
      },
    )
    const { id } = created
    const url = hasMail ? null : await issueInvitationLink(connection, { invitationId: id, pageUrl, isMailed: false })
    await auditObject(ctx, connection, 'invitation.created', { organizationId, id }, { email, role })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'people' })
    return { ...created, url }
  })
}

/** Throws 409 and 429 for an address that cannot be invited now. Returns whether a mail server is set up. */
async function requireInvitable(
  connection: Connection,
  { organizationId, email }: { organizationId: string; email: string },
): Promise<boolean> {
  const { hasMail, isMember, hasRefused, mailedMsAgo } = await queryEntity<{
    hasMail: boolean
    isMember: boolean
    hasRefused: boolean
    mailedMsAgo: number | null
  }>(
    connection,
    `SELECT ${hasMailServerSql} AS "hasMail",
       EXISTS (SELECT FROM person_role r JOIN person p ON p.id = r.person_id
               WHERE r.organization_id = $organizationId AND p.email = $email) AS "isMember",
       EXISTS (SELECT FROM alert_address
               WHERE organization_id = $organizationId AND address = $email AND state = 'refused') AS "hasRefused",
       (SELECT (extract(epoch FROM now() - created_at) * 1000)::float8 FROM invitation
        WHERE organization_id = $organizationId AND email = $email AND base_url IS NOT NULL) AS "mailedMsAgo"`,
    { organizationId, email },
  )
  if (isMember) throw conflict('person_exists', `${email} belongs to the organization already.`)
  if (hasMail && hasRefused)
    throw conflict('address_refused', `The owner of ${email} refused messages of this organization.`)
  if (hasMail && mailedMsAgo !== null && mailedMsAgo < pauseMs) {
    const seconds = Math.ceil((pauseMs - mailedMsAgo) / 1_000)
    const detail = `An invitation was sent to ${email} a short time ago. Send the next one in ${seconds} s.`
    throw new ServiceError(429, 'invitation_too_soon', detail, { headers: { 'Retry-After': String(seconds) } })
  }
  return hasMail
}

/** The invitations of an organization that were not accepted, newest first, also expired ones (`key:manage`). */
export const listInvitations = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<Invitation>> =>
  inOrganization(ctx, { scope: 'key:manage', organizationId }, (connection) =>
    queryPage<Invitation>(
      connection,
      `SELECT ${invitationColumns} FROM invitation
       WHERE organization_id = $organizationId AND ($after::uuid IS NULL OR id < $after) ORDER BY id DESC LIMIT $limit`,
      { organizationId },
      page,
    ),
  )

/** Withdraws an invitation, whose links stop working at once (`key:manage`). Throws 404. */
export async function withdrawInvitation(
  ctx: FleetContext,
  { organizationId, invitationId }: { organizationId: string; invitationId: string },
): Promise<void> {
  const place = [organizationId, isUuid(invitationId) ? invitationId : null]
  await authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'invitation',
    id: invitationId,
    find: () => ctx.pool.query('SELECT FROM invitation WHERE organization_id = $1 AND id = $2', place),
  })
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<{ email: string }>(
      'DELETE FROM invitation WHERE organization_id = $1 AND id = $2 RETURNING email',
      place,
    )
    if (!rows[0]) throw notFound('invitation', invitationId)
    await auditObject(ctx, connection, 'invitation.withdrawn', { organizationId, id: invitationId }, rows[0])
  })
}
