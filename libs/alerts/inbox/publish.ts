import { type AlertRow, toAlert } from '#alerts/inbox/alert'
import { publishEvents } from '#fleet/events/publish'
import type { Queryable } from '#postgres/pool'

/** Publishes an event for each of these alerts whose rule notifies webhooks, in the caller's transaction. */
export const publishAlerts = (
  connection: Queryable,
  type: 'alert.opened' | 'alert.closed',
  alerts: readonly AlertRow[],
): Promise<void> =>
  publishEvents(
    connection,
    alerts
      .filter(({ notify_webhooks }) => notify_webhooks)
      .map((row) => ({ organizationId: row.organization_id, type, payload: payloadOf(row) })),
  )

function payloadOf(row: AlertRow): Record<string, unknown> {
  const { id, organizationId: _organizationId, ...alert } = toAlert(row)
  return { alertId: id, ...alert }
}
