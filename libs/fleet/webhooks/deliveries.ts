import { conflict, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { authorizeFound, authorizeObject } from '#fleet/access/authorize-object'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

/** The delivery of one event to one webhook. `attempts` counts those that were started. */
type WebhookDelivery = {
  id: string
  /** The `webhook-id` header: the same for every attempt. */
  eventId: string
  type: string
  data: Record<string, unknown>
  status: 'delivered' | 'pending'
  attempts: number
  lastError: string | null
  createdAt: string
  deliveredAt: string | null
  nextAttemptAt: string | null
}

type DeliveryRow = {
  id: string
  event_id: string
  type: string
  payload: Record<string, unknown>
  attempt: number
  last_error: string | null
  created_at: Date
  delivered_at: Date | null
  next_attempt_at: Date
}

const columns = 'id, event_id, type, payload, attempt, last_error, created_at, delivered_at, next_attempt_at'

const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  eventId: row.event_id,
  type: row.type,
  data: row.payload,
  status: row.delivered_at === null ? 'pending' : 'delivered',
  attempts: row.attempt,
  lastError: row.last_error,
  createdAt: row.created_at.toISOString(),
  deliveredAt: row.delivered_at?.toISOString() ?? null,
  nextAttemptAt: row.delivered_at === null ? row.next_attempt_at.toISOString() : null,
})

type Webhook = { organizationId: string; webhookId: string }

/** The deliveries of a webhook of the last three days, newest first (`webhook:manage`). Throws 404. */
export async function listDeliveries(
  ctx: FleetContext,
  { organizationId, webhookId, page }: Webhook & { page: PageRequest },
): Promise<Page<WebhookDelivery>> {
  await authorizeObject(ctx, organizationId, 'webhook:manage', 'webhook', webhookId)
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireWebhook(connection, { organizationId, webhookId })
    const { rows } = await connection.query<DeliveryRow>(
      `SELECT ${columns} FROM webhook_delivery
        WHERE organization_id = $1 AND webhook_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
      [organizationId, webhookId, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toDelivery)
  })
}

/** The type of the events that `sendTestEvent` sends. Webhooks receive them without a subscription. */
const testEventType = 'webhook.test'

/** Queues a test event for a webhook (`webhook:manage`). Throws 404, and 409 `webhook_disabled`. */
export async function sendTestEvent(
  ctx: FleetContext,
  { organizationId, webhookId }: Webhook,
): Promise<WebhookDelivery> {
  await authorizeObject(ctx, organizationId, 'webhook:manage', 'webhook', webhookId)
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await endHold(connection, { organizationId, webhookId })
    await requireEnabled(connection, { organizationId, webhookId })
    const { rows } = await connection.query<DeliveryRow>(
      `INSERT INTO webhook_delivery (id, organization_id, webhook_id, event_id, type, payload)
       VALUES (uuidv7(), $1, $2, $3, '${testEventType}', $4) RETURNING ${columns}`,
      [organizationId, webhookId, newId(), JSON.stringify({ webhookId })],
    )
    return queued(ctx, connection, rows[0], 'webhook.tested', { organizationId, webhookId })
  })
}

/**
 * Queues a delivery again, with the same event id and a new series of attempts (`webhook:manage`). Throws 404, and 409
 * `webhook_disabled`.
 */
export async function redeliver(
  ctx: FleetContext,
  { organizationId, webhookId, deliveryId }: Webhook & { deliveryId: string },
): Promise<WebhookDelivery> {
  const delivery = [organizationId, isUuid(webhookId) ? webhookId : null, isUuid(deliveryId) ? deliveryId : null]
  await authorizeFound(ctx, organizationId, 'webhook:manage', {
    kind: 'delivery',
    id: deliveryId,
    find: () =>
      ctx.pool.query(
        'SELECT FROM webhook_delivery WHERE organization_id = $1 AND webhook_id = $2 AND id = $3',
        delivery,
      ),
  })
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await endHold(connection, { organizationId, webhookId })
    await requireEnabled(connection, { organizationId, webhookId })
    const { rows } = await connection.query<DeliveryRow>(
      `UPDATE webhook_delivery SET delivered_at = NULL, attempt = 0, next_attempt_at = now(), last_error = NULL
        WHERE organization_id = $1 AND webhook_id = $2 AND id = $3 RETURNING ${columns}`,
      delivery,
    )
    if (!rows[0]) throw notFound('delivery', deliveryId)
    return queued(ctx, connection, rows[0], 'webhook.redelivered', { organizationId, webhookId })
  })
}

/**
 * Lets the next attempt of a webhook without a confirmation begin at once, since a person asked for it. Comes first, because
 * two that upgrade a shared lock would wait for each other.
 */
async function endHold(connection: Connection, { organizationId, webhookId }: Webhook): Promise<void> {
  await connection.query('UPDATE webhook SET held_until = NULL WHERE organization_id = $1 AND id = $2', [
    organizationId,
    isUuid(webhookId) ? webhookId : null,
  ])
}

async function queued(
  ctx: FleetContext,
  connection: Connection,
  row: DeliveryRow | undefined,
  action: string,
  { organizationId, webhookId }: Webhook,
): Promise<WebhookDelivery> {
  if (!row) throw new Error('The delivery was not inserted.')
  const detail = { deliveryId: row.id, type: row.type }
  await auditCaller(ctx, connection, { organizationId, action, subjectType: 'webhook', subjectId: webhookId, detail })
  return toDelivery(row)
}

/** Throws 404. Locks the row, so that the webhook is not disabled or deleted before the commit. */
async function requireWebhook(
  connection: Connection,
  { organizationId, webhookId }: Webhook,
): Promise<{ disabled: boolean }> {
  const { rows } = await connection.query<{ disabled: boolean }>(
    'SELECT disabled_at IS NOT NULL AS disabled FROM webhook WHERE organization_id = $1 AND id = $2 FOR SHARE',
    [organizationId, isUuid(webhookId) ? webhookId : null],
  )
  if (!rows[0]) throw notFound('webhook', webhookId)
  return rows[0]
}

async function requireEnabled(connection: Connection, webhook: Webhook): Promise<void> {
  const { disabled } = await requireWebhook(connection, webhook)
  if (disabled) throw conflict('webhook_disabled', 'The webhook is disabled. Enable it first.')
}
