import { type AlertAddress, addressColumns } from '#alerts/addresses/address'
import { conflict, notFound, ServiceError } from '#core/errors'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { inOrganization } from '#fleet/verbs'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

type AddressesOfRule = { organizationId: string; emails: readonly string[]; pageUrl: string | undefined }

/**
 * Registers the addresses of a rule in the caller's transaction. New ones wait for a confirmation, whose message is due at
 * once. Throws 409 `limit_reached` when too many wait.
 */
export async function registerAddresses(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, emails, pageUrl }: AddressesOfRule,
): Promise<void> {
  if (emails.length === 0) return
  const { rowCount } = await connection.query(
    `INSERT INTO alert_address (organization_id, address, base_url, requests, requested_at, next_attempt_at)
     SELECT DISTINCT $1::uuid, lower(email), $3::text, 1, now(), now() FROM unnest($2::text[]) AS email
     ON CONFLICT DO NOTHING`,
    [organizationId, emails, pageUrl ?? null],
  )
  const added = rowCount ?? 0
  if (added > 0) await requireWithinLimit(ctx, connection, { organizationId, limit: 'waitingAddresses', added })
}

type Request = { organizationId: string; email: string; pageUrl: string }

const maxRequests = 5
const pauseMs = 3_600_000
const longPauseMs = 7 * 24 * 3_600_000

/**
 * Sends the link to an address that waits for its confirmation again (`alert:write`). Throws 404 for an address without a rule,
 * 402, 409 `address_confirmed` or `address_refused`, and 429 within an hour, or for a week after five requests.
 */
export const requestConfirmation = (ctx: FleetContext, request: Request): Promise<AlertAddress> =>
  inOrganization(ctx, { scope: 'alert:write', organizationId: request.organizationId }, async (connection) => {
    const { organizationId, pageUrl } = request
    const current = await lockAddress(ctx, connection, request)
    const { email, state } = current
    await requireActiveSubscription(ctx, connection, organizationId)
    if (state === 'confirmed') throw conflict('address_confirmed', `${email} is confirmed already.`)
    if (state === 'refused')
      throw conflict('address_refused', `The owner of ${email} refused messages of this organization.`)
    const changed = await queryEntity<AlertAddress>(
      connection,
      `UPDATE alert_address
       SET requests = $requests, requested_at = now(), attempt = 0, next_attempt_at = now(), base_url = $pageUrl
       WHERE organization_id = $organizationId AND address = $email RETURNING ${addressColumns}`,
      { organizationId, email, requests: nextRequest(ctx, current), pageUrl },
    )
    await auditObject(ctx, connection, 'alert_address.confirmation_requested', { organizationId, id: email })
    return changed
  })

type RequestedAddress = AlertAddress & { requests: number }

/** Locks the row of an address. Registers one that only a rule has, which a replica of an earlier version wrote. */
async function lockAddress(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, email, pageUrl }: Request,
): Promise<RequestedAddress> {
  const read = () =>
    queryEntities<RequestedAddress>(
      connection,
      `SELECT ${addressColumns}, requests FROM alert_address
       WHERE organization_id = $organizationId AND address = lower($email) FOR UPDATE`,
      { organizationId, email },
    )
  const [known] = await read()
  if (known) return known
  const { rowCount } = await connection.query(
    `SELECT FROM alert_rule WHERE organization_id = $1
       AND EXISTS (SELECT FROM unnest(emails) AS one WHERE lower(one) = lower($2)) LIMIT 1`,
    [organizationId, email],
  )
  if (!rowCount) throw notFound('alert address', email)
  await registerAddresses(ctx, connection, { organizationId, emails: [email], pageUrl })
  const [registered] = await read()
  if (!registered) throw new Error('The address was not registered.')
  return { ...registered, requests: 0, requestedAt: null }
}

/** The number of this request. Throws 429 if it comes too soon. */
function nextRequest(ctx: FleetContext, { email, requests, requestedAt }: RequestedAddress): number {
  if (requestedAt === null) return 1
  const elapsedMs = ctx.clock() - Date.parse(requestedAt)
  if (elapsedMs >= longPauseMs) return 1
  const waitMs = (requests < maxRequests ? pauseMs : longPauseMs) - elapsedMs
  if (waitMs <= 0) return requests + 1
  const seconds = Math.ceil(waitMs / 1_000)
  const detail = `A message was sent to ${email} a short time ago. Send the next one in ${seconds} s.`
  throw new ServiceError(429, 'confirmation_too_soon', detail, { headers: { 'Retry-After': String(seconds) } })
}
