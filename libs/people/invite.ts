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
import { lockName } from '#postgres/name-lock'
import { type Connection, transaction } from '#postgres/pool'

type NewInvitation = { organizationId: string; email: string; role: RoleName; pageUrl: string }
type CreatedInvitation = Invitation & { url: string | null }

/** Between two messages of an organization to an address, and after several. */
const pauseMs = 60_000
const longPauseMs = 24 * 3_600_000
const messagesBeforeLongPause = 5

/**
 * Invites a person to an organization (`key:manage`, and all scopes of the role). A message with the link is due at once if a
 * mail server is set up; else `url` is the link. Replaces an earlier invitation of the address, whose links stop working. Throws
 * 404, 403, 409 `person_exists`, `address_refused` or `limit_reached`, and 429 `invitation_too_soon` within a minute of the last
 * message, or within a day after five.
 */
export async function invite(ctx: FleetContext, invitation: NewInvitation): Promise<CreatedInvitation> {
  const { organizationId, role, pageUrl } = invitation
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  // Nobody can give more than they hold.
  authorizeAll(ctx.principal, organizationId, scopesOfRole[role])
  const email = invitation.email.toLowerCase()
  return transaction(ctx.pool, async (connection) => {
    await lockName(connection, `invitation:${organizationId}:${email}`)
    const { hasMail, requests } = await requireInvitable(connection, { organizationId, email })
    await connection.query('DELETE FROM invitation WHERE organization_id = $1 AND email = $2', [organizationId, email])
    const created = await queryEntity<Invitation>(
      connection,
      `INSERT INTO invitation
         (id, organization_id, email, role, invited_by, invited_by_name, expires_at, requests, base_url, next_attempt_at)
       VALUES ($id, $organizationId, $email, $role, $invitedBy, $invitedByName, now() + make_interval(days => $days),
         $requests, $pageUrl::text, CASE WHEN $pageUrl::text IS NOT NULL THEN now() END)
       RETURNING ${invitationColumns}`,
      {
        ...{
          id: newId(),
          organizationId,
          email,
          role,
          days: invitationDays,
          requests,
          pageUrl: hasMail ? pageUrl : null,
        },
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

type Invitable = {
  /** A mail server is set up. */
  hasMail: boolean
  /** How many messages the address gets with this one, without a day between two of them. */
  requests: number
}

/** Throws 409 and 429 for an address that cannot be invited now. */
async function requireInvitable(
  connection: Connection,
  { organizationId, email }: { organizationId: string; email: string },
): Promise<Invitable> {
  const { hasMail, isMember, hasRefused, requests, mailedMsAgo } = await queryEntity<{
    hasMail: boolean
    isMember: boolean
    hasRefused: boolean
    requests: number | null
    mailedMsAgo: number | null
  }>(
    connection,
    `SELECT ${hasMailServerSql} AS "hasMail", i.requests,
       (extract(epoch FROM now() - i.created_at) * 1000)::float8 AS "mailedMsAgo",
       EXISTS (SELECT FROM person_role r JOIN person p ON p.id = r.person_id
               WHERE r.organization_id = $organizationId AND p.email = $email) AS "isMember",
       EXISTS (SELECT FROM alert_address
               WHERE organization_id = $organizationId AND address = $email AND state = 'refused') AS "hasRefused"
     FROM (VALUES (true)) AS always
       LEFT JOIN invitation i ON i.organization_id = $organizationId AND i.email = $email AND i.base_url IS NOT NULL`,
    { organizationId, email },
  )
  if (isMember) throw conflict('person_exists', `${email} belongs to the organization already.`)
  if (!hasMail) return { hasMail, requests: 1 }
  if (hasRefused) throw conflict('address_refused', `The owner of ${email} refused messages of this organization.`)
  if (requests === null || mailedMsAgo === null || mailedMsAgo >= longPauseMs) return { hasMail, requests: 1 }
  const waitMs = (requests < messagesBeforeLongPause ? pauseMs : longPauseMs) - mailedMsAgo
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000)
    const detail = `An invitation was sent to ${email} a short time ago. Send the next one in ${seconds} s.`
    throw new ServiceError(429, 'invitation_too_soon', detail, { headers: { 'Retry-After': String(seconds) } })
  }
  return { hasMail, requests: requests + 1 }
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
       WHERE organization_id = $organizationId AND withdrawn_at IS NULL AND ($after::uuid IS NULL OR id < $after)
       ORDER BY id DESC LIMIT $limit`,
      { organizationId },
      page,
    ),
  )

/** SQL condition: the invitation that was not withdrawn, by its organization as $1 and its id as $2. */
const isThis = 'organization_id = $1 AND id = $2 AND withdrawn_at IS NULL'

/** Withdraws an invitation, whose links stop working at once (`key:manage`). Throws 404. */
export async function withdrawInvitation(
  ctx: FleetContext,
  { organizationId, invitationId }: { organizationId: string; invitationId: string },
): Promise<void> {
  const place = [organizationId, isUuid(invitationId) ? invitationId : null]
  await authorizeFound(ctx, organizationId, 'key:manage', {
    kind: 'invitation',
    id: invitationId,
    find: () => ctx.pool.query(`SELECT FROM invitation WHERE ${isThis}`, place),
  })
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<{ email: string }>(
      `UPDATE invitation SET withdrawn_at = now(), expires_at = least(expires_at, now()), next_attempt_at = NULL
       WHERE ${isThis} RETURNING email`,
      place,
    )
    if (!rows[0]) throw notFound('invitation', invitationId)
    await auditObject(ctx, connection, 'invitation.withdrawn', { organizationId, id: invitationId }, rows[0])
  })
}
