import { type AlertAddress, addressColumns } from '#alerts/addresses/address'
import { conflict, notFound, ServiceError } from '#core/errors'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { createObject } from '#fleet/verbs'
import { hasMailServerSql } from '#messages/mail-server'
import { queryEntities, queryEntity } from '#postgres/entities'

/** A test can be sent again after this time. */
const pauseMs = 60_000

/**
 * Queues a test message to a confirmed address (`alert:write`). `lastTest` of the address then has its result. Throws 404, 402,
 * 409 `address_not_confirmed` or `mail_server_missing`, and 429 within a minute of the last test.
 */
export const testAddress = (
  ctx: FleetContext,
  { organizationId, email }: { organizationId: string; email: string },
): Promise<AlertAddress> =>
  createObject(ctx, { scope: 'alert:write', organizationId }, async (connection) => {
    const [current] = await queryEntities<AlertAddress & { hasMailServer: boolean; testedMsAgo: number | null }>(
      connection,
      `SELECT ${addressColumns}, ${hasMailServerSql} AS "hasMailServer",
         (extract(epoch FROM now() - test_requested_at) * 1000)::float8 AS "testedMsAgo"
       FROM alert_address WHERE organization_id = $organizationId AND address = lower($email) FOR UPDATE`,
      { organizationId, email },
    )
    if (!current) throw notFound('alert address', email)
    if (current.state !== 'confirmed') {
      throw conflict('address_not_confirmed', `The owner of ${current.email} has not confirmed the address.`)
    }
    if (!current.hasMailServer) {
      throw conflict('mail_server_missing', 'No mail server is set up. Set SMTP_URL and MAIL_FROM for the worker.')
    }
    if (current.testedMsAgo !== null && current.testedMsAgo < pauseMs) {
      const seconds = Math.ceil((pauseMs - current.testedMsAgo) / 1_000)
      const detail = `A test was sent to ${current.email} a short time ago. Send the next one in ${seconds} s.`
      throw new ServiceError(429, 'test_too_soon', detail, { headers: { 'Retry-After': String(seconds) } })
    }
    const changed = await queryEntity<AlertAddress>(
      connection,
      `UPDATE alert_address SET test_requested_at = now(), test_due_at = now(), test_ended_at = NULL, test_error = NULL
       WHERE organization_id = $organizationId AND address = lower($email) RETURNING ${addressColumns}`,
      { organizationId, email },
    )
    await auditObject(ctx, connection, 'alert_address.tested', { organizationId, id: changed.email })
    return changed
  })
