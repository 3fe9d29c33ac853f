import { randomBytes } from 'node:crypto'
import { badRequest, notFound } from '#core/errors'
import { isUuid, newId } from '#core/ids'
import { type ReachableAddresses, refusalOfUrl } from '#core/public-address'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { EventType } from '#fleet/events/publish'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Queryable } from '#postgres/pool'

type Webhook = {
  id: string
  url: string
  events: EventType[]
  description: string | null
  /** When the webhook was disabled; null while it is enabled. */
  disabledAt: string | null
  disabledReason: string | null
  /** When the receiver accepted the first delivery; null before. */
  confirmedAt: string | null
  createdAt: string
}

type WebhookRow = {
  id: string
  url: string
  events: EventType[]
  description: string | null
  disabled_at: Date | null
  disabled_reason: string | null
  confirmed_at: Date | null
  created_at: Date
}

const columns = 'id, url, events, description, disabled_at, disabled_reason, confirmed_at, created_at'

const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  url: row.url,
  events: row.events,
  description: row.description,
  disabledAt: row.disabled_at?.toISOString() ?? null,
  disabledReason: row.disabled_reason,
  confirmedAt: row.confirmed_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
})

type NewWebhook = {
  organizationId: string
  url: string
  events: EventType[]
  description?: string | null | undefined
  /** The addresses at which receivers may be. Default: those on the public Internet. */
  reachable?: ReachableAddresses | undefined
}

/** The place to which the encrypted signing secret of a webhook is bound. */
export const webhookSecretPlace = (webhookId: string) => ['webhook', webhookId]

/**
 * Creates a webhook (`webhook:manage`). `secret` signs the deliveries (Standard Webhooks) and is returned only here. Throws
 * 400 `url_refused` for a URL that deliveries could not reach, and 409 `limit_reached`.
 */
export async function createWebhook(
  ctx: FleetContext,
  { organizationId, reachable, ...input }: NewWebhook,
): Promise<Webhook & { secret: string }> {
  authorize(ctx.principal, organizationId, 'webhook:manage')
  const refusal = refusalOfUrl(input.url, reachable)
  if (refusal) throw badRequest(refusal, [{ pointer: '/url', code: 'url_refused', detail: refusal }])
  await requireOrganization(ctx, organizationId)
  const id = newId()
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const key = await dataKeyOf(connection, ctx.keyring, organizationId)
    const { rows } = await connection.query<WebhookRow>(
      `INSERT INTO webhook (id, organization_id, url, events, description, sealed_secret, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, uuid_extract_timestamp($1)) RETURNING ${columns}`,
      [
        id,
        organizationId,
        input.url,
        input.events,
        input.description ?? null,
        key.seal(secret, webhookSecretPlace(id)),
      ],
    )
    if (!rows[0]) throw new Error('The webhook was not inserted.')
    await auditWebhook(ctx, connection, organizationId, id, 'webhook.created')
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'webhooks' })
    return { ...toWebhook(rows[0]), secret }
  })
}

/** The organization's webhooks, newest first, without their secrets (`webhook:manage`). */
export async function listWebhooks(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<Webhook>> {
  authorize(ctx.principal, organizationId, 'webhook:manage')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<WebhookRow>(
      `SELECT ${columns} FROM webhook
       WHERE organization_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
      [organizationId, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toWebhook)
  })
}

type WebhookChange = {
  organizationId: string
  webhookId: string
  events?: EventType[] | undefined
  description?: string | null | undefined
  /** True clears the reason for which the webhook was disabled. False deletes its pending deliveries. */
  enabled?: boolean | undefined
}

/** Changes the events or the description of a webhook, or enables or disables it (`webhook:manage`). Throws 404. */
export async function changeWebhook(ctx: FleetContext, change: WebhookChange): Promise<Webhook> {
  const { organizationId, webhookId, events, description, enabled } = change
  await authorizeObject(ctx, organizationId, 'webhook:manage', 'webhook', webhookId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<WebhookRow>(
      `UPDATE webhook SET events = coalesce($3, events), description = CASE WHEN $4 THEN $5 ELSE description END,
              disabled_at = CASE WHEN $6 THEN NULL WHEN NOT $6 THEN coalesce(disabled_at, now()) ELSE disabled_at END,
              disabled_reason = CASE WHEN $6 THEN NULL
                WHEN NOT $6 THEN coalesce(disabled_reason, 'Disabled by a person.') ELSE disabled_reason END,
              failures = CASE WHEN $6 THEN 0 ELSE failures END, held_until = CASE WHEN $6 THEN NULL ELSE held_until END
        WHERE organization_id = $1 AND id = $2 RETURNING ${columns}`,
      [
        organizationId,
        isUuid(webhookId) ? webhookId : null,
        events ?? null,
        description !== undefined,
        description ?? null,
        enabled ?? null,
      ],
    )
    if (!rows[0]) throw notFound('webhook', webhookId)
    if (enabled === false)
      await connection.query('DELETE FROM webhook_delivery WHERE webhook_id = $1 AND delivered_at IS NULL', [webhookId])
    await auditWebhook(ctx, connection, organizationId, webhookId, 'webhook.changed')
    return toWebhook(rows[0])
  })
}

/** Deletes a webhook and its pending deliveries (`webhook:manage`). Throws 404. */
export async function deleteWebhook(
  ctx: FleetContext,
  { organizationId, webhookId }: { organizationId: string; webhookId: string },
): Promise<void> {
  await authorizeObject(ctx, organizationId, 'webhook:manage', 'webhook', webhookId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rowCount } = await connection.query('DELETE FROM webhook WHERE organization_id = $1 AND id = $2', [
      organizationId,
      isUuid(webhookId) ? webhookId : null,
    ])
    if (!rowCount) throw notFound('webhook', webhookId)
    await auditWebhook(ctx, connection, organizationId, webhookId, 'webhook.deleted')
  })
}

// The URL is not recorded, because its path is often a secret of the receiver.
const auditWebhook = (
  ctx: FleetContext,
  db: Queryable,
  organizationId: string,
  webhookId: string,
  action: string,
): Promise<void> => auditCaller(ctx, db, { organizationId, action, subjectType: 'webhook', subjectId: webhookId })
