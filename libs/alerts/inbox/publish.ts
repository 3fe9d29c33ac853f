import type { WrittenAlert } from '#alerts/inbox/alert'
import type { alertEventSchemas } from '#alerts/inbox/event-payloads'
import { type EventsOf, publishEvents } from '#fleet/events/publish'
import type { Queryable } from '#postgres/pool'

/** Publishes an event for each of these alerts whose rule notifies webhooks, in the caller's transaction. */
export const publishAlerts = (
  connection: Queryable,
  type: 'alert.opened' | 'alert.closed',
  alerts: readonly WrittenAlert[],
): Promise<void> =>
  publishEvents<EventsOf<typeof alertEventSchemas>>(
    connection,
    alerts
      .filter(({ notifyWebhooks }) => notifyWebhooks)
      .map(({ id, organizationId, notifyWebhooks: _, ...alert }) => ({
        organizationId,
        type,
        payload: { alertId: id, ...alert },
      })),
  )
