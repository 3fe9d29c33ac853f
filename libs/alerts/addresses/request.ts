import { type AddressRow, type AlertAddress, addressColumns, toAddress } from '#alerts/addresses/address'
import { conflict, notFound, ServiceError } from '#core/errors'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
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
export async function requestConfirmation(
  ctx: FleetContext,
  { organizationId, email, pageUrl }: Request,
): Promise<AlertAddress> {
  authorize(ctx.principal, organizationId, 'alert:write')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const row = await lockAddress(ctx, connection, { organizationId, email, pageUrl })
    await requireActiveSubscription(ctx, connection, organizationId)
    if (row.state === 'confirmed') throw conflict('address_confirmed', `${row.address} is confirmed already.`)
    if (row.state === 'refused')
      throw conflict('address_refused', `The owner of ${row.address} refused messages of this organization.`)
    const { rows: changed } = await connection.query<AddressRow>(
      `UPDATE alert_address SET requests = $3, requested_at = now(), attempt = 0, next_attempt_at = now(), base_url = $4
       WHERE organization_id = $1 AND address = $2 RETURNING ${addressColumns}`,
      [organizationId, row.address, nextRequest(ctx, row), pageUrl],
    )
    const subject = { organizationId, subjectType: 'alert_address', subjectId: row.address }
    await auditCaller(ctx, connection, { ...subject, action: 'alert_address.confirmation_requested' })
    if (!changed[0]) throw new Error('The address was not written.')
    return toAddress(changed[0])
  })
}

/** Locks the row of an address. Registers one that only a rule has, which a replica of an earlier version wrote. */
async function lockAddress(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, email, pageUrl }: Request,
): Promise<AddressRow> {
  const read = async () =>
    connection.query<AddressRow>(
      `SELECT ${addressColumns} FROM alert_address WHERE organization_id = $1 AND address = lower($2) FOR UPDATE`,
      [organizationId, email],
    )
  const { rows } = await read()
  if (rows[0]) return rows[0]
  const { rowCount } = await connection.query(
    `SELECT FROM alert_rule WHERE organization_id = $1
       AND EXISTS (SELECT FROM unnest(emails) AS one WHERE lower(one) = lower($2)) LIMIT 1`,
    [organizationId, email],
  )
  if (!rowCount) throw notFound('alert address', email)
  await registerAddresses(ctx, connection, { organizationId, emails: [email], pageUrl })
  const { rows: registered } = await read()
  if (!registered[0]) throw new Error('The address was not registered.')
  return { ...registered[0], requests: 0, requested_at: null }
}

/** The number of this request. Throws 429 if it comes too soon. */
function nextRequest(ctx: FleetContext, { address, requests, requested_at }: AddressRow): number {
  if (requested_at === null) return 1
  const elapsedMs = ctx.clock() - requested_at.getTime()
  if (elapsedMs >= longPauseMs) return 1
  const waitMs = (requests < maxRequests ? pauseMs : longPauseMs) - elapsedMs
  if (waitMs <= 0) return requests + 1
  const seconds = Math.ceil(waitMs / 1_000)
  const detail = `A message was sent to ${address} a short time ago. Send the next one in ${seconds} s.`
  throw new ServiceError(429, 'confirmation_too_soon', detail, { headers: { 'Retry-After': String(seconds) } })
}
