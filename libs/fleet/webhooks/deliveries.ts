import { z } from 'zod'
import { conflict, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { instantOut, uuid } from '#core/schemas'
import { authorizeFound } from '#fleet/access/authorize-object'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { type WebhookReference, webhookAccess } from '#fleet/webhooks/webhooks'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** The delivery of one event to one webhook. `attempts` counts those that were started. */
export const deliverySchema = z.object({
  id: uuid(),
  eventId: uuid().describe('The `webhook-id` header, the same for every attempt.'),
  type: z.string().describe('The event type, or `webhook.test`.'),
  data: z.record(z.string(), z.unknown()).describe('The `data` of the event.'),
  status: z.enum(['delivered', 'pending', 'failed']).describe('`failed`: there is no further attempt.'),
  attempts: z.int(),
  lastError: z.string().nullable(),
  createdAt: instantOut(),
  deliveredAt: instantOut().nullable(),
  nextAttemptAt: instantOut().nullable().describe('Null unless the delivery is pending.'),
})

export type WebhookDelivery = z.infer<typeof deliverySchema>

const columns = `id, event_id AS "eventId", type, payload AS data,
  CASE WHEN delivered_at IS NOT NULL THEN 'delivered' WHEN failed_at IS NOT NULL THEN 'failed' ELSE 'pending' END AS status, attempt AS attempts,
  last_error AS "lastError", created_at AS "createdAt", delivered_at AS "deliveredAt",
  CASE WHEN delivered_at IS NULL AND failed_at IS NULL THEN next_attempt_at END AS "nextAttemptAt"`

/** The deliveries of a webhook of the last seven days, newest first (`webhook:manage`). Throws 404. */
export const listDeliveries = (
  ctx: FleetContext,
  { page, ...webhook }: WebhookReference & { page: PageRequest },
): Promise<Page<WebhookDelivery>> =>
  withObject(ctx, webhookAccess(webhook), async (connection) => {
    const { organizationId, webhookId } = webhook
    const { rowCount } = await connection.query('SELECT FROM webhook WHERE organization_id = $1 AND id = $2', [
      organizationId,
      webhookId,
    ])
    if (!rowCount) throw notFound('webhook', webhookId)
    return queryPage(
      connection,
      `SELECT ${columns} FROM webhook_delivery
       WHERE organization_id = $organizationId AND webhook_id = $webhookId AND ($after::uuid IS NULL OR id < $after)
       ORDER BY id DESC LIMIT $limit`,
      webhook,
      page,
    )
  })

/** The type of the events that `sendTestEvent` sends. Webhooks receive them without a subscription. */
export const testEventType = 'webhook.test'

/** The `data` of test events. */
export const testEventSchema = z
  .object({ webhookId: uuid() })
  .describe('A person sent a test event. Webhooks need no subscription.')

/** Queues a test event for a webhook (`webhook:manage`). Throws 404, and 409 `webhook_disabled`. */
export const sendTestEvent = (ctx: FleetContext, webhook: WebhookReference): Promise<WebhookDelivery> =>
  withObject(ctx, webhookAccess(webhook), async (connection) => {
    await endHold(connection, webhook)
    const delivery = await queryEntity<WebhookDelivery>(
      connection,
      `INSERT INTO webhook_delivery (id, organization_id, webhook_id, event_id, type, payload)
       VALUES (uuidv7(), $organizationId, $webhookId, $eventId, '${testEventType}', $payload) RETURNING ${columns}`,
      {
        ...webhook,
        eventId: newId(),
        payload: { webhookId: webhook.webhookId } satisfies z.infer<typeof testEventSchema>,
      },
    )
    const detail = { deliveryId: delivery.id, type: delivery.type }
    await auditObject(ctx, connection, 'webhook.tested', webhookAccess(webhook), detail)
    return delivery
  })

/**
 * Queues a delivery again, with the same event id and a new series of attempts (`webhook:manage`). Throws 404, and 409
 * `webhook_disabled`.
 */
export async function redeliver(
  ctx: FleetContext,
  { deliveryId, ...webhook }: WebhookReference & { deliveryId: string },
): Promise<WebhookDelivery> {
  const { organizationId, webhookId } = webhook
  const ids = [organizationId, isUuid(webhookId) ? webhookId : null, isUuid(deliveryId) ? deliveryId : null]
  await authorizeFound(ctx, organizationId, 'webhook:manage', {
    kind: 'delivery',
    id: deliveryId,
    find: () =>
      ctx.pool.query('SELECT FROM webhook_delivery WHERE organization_id = $1 AND webhook_id = $2 AND id = $3', ids),
  })
  return inOrganization(ctx, { scope: 'webhook:manage', organizationId }, async (connection) => {
    await endHold(connection, webhook)
    const [delivery] = await queryEntities<WebhookDelivery>(
      connection,
      `UPDATE webhook_delivery SET delivered_at = NULL, failed_at = NULL, attempt = 0, first_attempt_at = NULL,
         next_attempt_at = now(), last_error = NULL
       WHERE organization_id = $organizationId AND webhook_id = $webhookId AND id = $deliveryId RETURNING ${columns}`,
      { ...webhook, deliveryId },
    )
    if (!delivery) throw notFound('delivery', deliveryId)
    const detail = { deliveryId: delivery.id, type: delivery.type }
    await auditObject(ctx, connection, 'webhook.redelivered', webhookAccess(webhook), detail)
    return delivery
  })
}

/**
 * Lets the next attempt of a webhook that rests begin at once, since a person asked for it. Locks the webhook, so
 * that it is not disabled or deleted before the commit. Throws 404, and 409 `webhook_disabled`.
 */
async function endHold(connection: Connection, { organizationId, webhookId }: WebhookReference): Promise<void> {
  const { rows } = await connection.query<{ disabled: boolean }>(
    `UPDATE webhook SET held_until = NULL WHERE organization_id = $1 AND id = $2
     RETURNING disabled_at IS NOT NULL AS disabled`,
    [organizationId, isUuid(webhookId) ? webhookId : null],
  )
  if (!rows[0]) throw notFound('webhook', webhookId)
  if (rows[0].disabled) throw conflict('webhook_disabled', 'The webhook is disabled. Enable it first.')
}
