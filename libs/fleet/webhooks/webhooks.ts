import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { badRequest, notFound } from '#core/errors'
import { newId } from '#core/ids'
import { type ReachableAddresses, refusalOfUrl } from '#core/public-address'
import { instantOut, uuid } from '#core/schemas'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import { type EventType, eventTypes } from '#fleet/events/publish'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

export const webhookSchema = z
  .object({
    id: uuid(),
    url: z.string(),
    events: z.array(z.enum(eventTypes)),
    description: z.string().nullable(),
    confirmedAt: instantOut()
      .nullable()
      .describe('When the receiver accepted the first delivery. Null before; then a failed attempt delays all others.'),
    disabledAt: instantOut().nullable().describe('When the webhook was disabled; null while it is active.'),
    disabledReason: z.string().nullable(),
    oldSecretExpiresAt: instantOut()
      .nullable()
      .describe('Until when the secret before the last rotation also signs deliveries. Null if it does not.'),
    createdAt: instantOut(),
  })
  .meta({ id: 'Webhook' })

export type Webhook = z.infer<typeof webhookSchema>

export type WebhookReference = { organizationId: string; webhookId: string }

/** The access of verbs on a webhook. */
export const webhookAccess = ({ organizationId, webhookId }: WebhookReference) =>
  ({ scope: 'webhook:manage', noun: 'webhook', organizationId, id: webhookId }) as const

/** The columns of a `Webhook`, for SELECT and RETURNING. */
export const webhookColumns = `id, url, events, description, confirmed_at AS "confirmedAt", disabled_at AS "disabledAt",
  disabled_reason AS "disabledReason",
  CASE WHEN old_secret_expires_at > now() THEN old_secret_expires_at END AS "oldSecretExpiresAt", created_at AS "createdAt"`

export type NewWebhook = {
  organizationId: string
  url: string
  events: EventType[]
  description?: string | null | undefined
  /** The addresses at which receivers may be. Default: those on the public Internet. */
  reachable?: ReachableAddresses | undefined
}

/** The place to which the encrypted signing secret of a webhook is bound. */
export const webhookSecretPlace = (webhookId: string) => ['webhook', webhookId]

export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/**
 * Creates a webhook (`webhook:manage`). `secret` signs the deliveries (Standard Webhooks) and is returned only here. Throws
 * 400 `url_refused` for a URL that deliveries could not reach, and 409 `limit_reached`. `alsoWrite` writes in the same transaction.
 */
export const createWebhook = (
  ctx: FleetContext,
  { organizationId, reachable, url, events, description }: NewWebhook,
  alsoWrite?: (connection: Connection, webhook: Webhook) => Promise<void>,
): Promise<Webhook & { secret: string }> =>
  inOrganization(ctx, { scope: 'webhook:manage', organizationId }, async (connection) => {
    const refusal = refusalOfUrl(url, reachable)
    if (refusal) throw badRequest(refusal, [{ pointer: '/url', code: 'url_refused', detail: refusal }])
    const id = newId()
    const secret = newWebhookSecret()
    const key = await dataKeyOf(connection, ctx.keyring, organizationId)
    const sealedSecret = key.seal(secret, webhookSecretPlace(id))
    const webhook = await queryEntity<Webhook>(
      connection,
      `INSERT INTO webhook (id, organization_id, url, events, description, sealed_secret, created_at)
       VALUES ($id, $organizationId, $url, $events, $description, $sealedSecret, uuid_extract_timestamp($id))
       RETURNING ${webhookColumns}`,
      { id, organizationId, url, events, description, sealedSecret },
    )
    // The URL is not recorded, because its path is often a secret of the receiver.
    await auditObject(ctx, connection, 'webhook.created', { organizationId, id })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'webhooks' })
    await alsoWrite?.(connection, webhook)
    return { ...webhook, secret }
  })

/** The organization's webhooks, newest first, without their secrets (`webhook:manage`). */
export const listWebhooks = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<Webhook>> =>
  inOrganization(ctx, { scope: 'webhook:manage', organizationId }, (connection) =>
    queryPage(
      connection,
      `SELECT ${webhookColumns} FROM webhook
       WHERE organization_id = $organizationId AND ($after::uuid IS NULL OR id < $after) ORDER BY id DESC LIMIT $limit`,
      { organizationId },
      page,
    ),
  )

type WebhookChange = WebhookReference & {
  events?: EventType[] | undefined
  description?: string | null | undefined
  /** True clears the reason for which the webhook was disabled. False deletes its pending deliveries. */
  enabled?: boolean | undefined
}

/** Changes the events or the description of a webhook, or enables or disables it (`webhook:manage`). Throws 404. */
export const changeWebhook = (ctx: FleetContext, change: WebhookChange): Promise<Webhook> =>
  withObject(ctx, webhookAccess(change), async (connection) => {
    const { organizationId, webhookId, events, description, enabled } = change
    const [webhook] = await queryEntities<Webhook>(
      connection,
      `UPDATE webhook SET events = coalesce($events, events),
         description = CASE WHEN $describes THEN $description ELSE description END,
         disabled_at = CASE WHEN $enabled THEN NULL WHEN NOT $enabled THEN coalesce(disabled_at, now()) ELSE disabled_at END,
         disabled_reason = CASE WHEN $enabled THEN NULL
           WHEN NOT $enabled THEN coalesce(disabled_reason, 'Disabled by a person.') ELSE disabled_reason END,
         disabled_by_service = disabled_by_service AND $enabled IS NULL,
         failures = CASE WHEN $enabled THEN 0 ELSE failures END,
         failing_since = CASE WHEN $enabled THEN NULL ELSE failing_since END,
         held_until = CASE WHEN $enabled THEN NULL ELSE held_until END
       WHERE organization_id = $organizationId AND id = $webhookId RETURNING ${webhookColumns}`,
      { organizationId, webhookId, events, describes: description !== undefined, description, enabled },
    )
    if (!webhook) throw notFound('webhook', webhookId)
    if (enabled === false)
      await connection.query(
        'DELETE FROM webhook_delivery WHERE webhook_id = $1 AND delivered_at IS NULL AND failed_at IS NULL',
        [webhookId],
      )
    await auditObject(ctx, connection, 'webhook.changed', webhookAccess(change))
    return webhook
  })

/** Deletes a webhook and its pending deliveries (`webhook:manage`). Throws 404. */
export const deleteWebhook = (ctx: FleetContext, webhook: WebhookReference): Promise<void> =>
  withObject(ctx, webhookAccess(webhook), async (connection) => {
    const { rowCount } = await connection.query('DELETE FROM webhook WHERE organization_id = $1 AND id = $2', [
      webhook.organizationId,
      webhook.webhookId,
    ])
    if (!rowCount) throw notFound('webhook', webhook.webhookId)
    await auditObject(ctx, connection, 'webhook.deleted', webhookAccess(webhook))
  })
