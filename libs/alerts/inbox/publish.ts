import type { WrittenAlert } from '#alerts/inbox/alert'
import { publishEvents } from '#fleet/events/publish'
import type { Queryable } from '#postgres/pool'

/** Publishes an event for each of these alerts whose rule notifies webhooks, in the caller's transaction. */
export const publishAlerts = (
  connection: Queryable,
  type: 'alert.opened' | 'alert.closed',
  alerts: readonly WrittenAlert[],
): Promise<void> =>
  publishEvents(
    connection,
    alerts
      .filter(({ notifyWebhooks }) => notifyWebhooks)
      .map(({ id, organizationId, notifyWebhooks: _, ...alert }) => ({
        organizationId,
        type,
        payload: { alertId: id, ...alert },
      })),
  )
