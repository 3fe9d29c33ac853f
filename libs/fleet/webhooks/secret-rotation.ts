import { notFound } from '#core/errors'
import { lockObject } from '#fleet/access/authorize-object'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import { withObject } from '#fleet/verbs'
import {
  newWebhookSecret,
  type Webhook,
  type WebhookReference,
  webhookAccess,
  webhookColumns,
  webhookSecretPlace,
} from '#fleet/webhooks/webhooks'
import { queryEntities } from '#postgres/entities'

type Rotation = WebhookReference & { oldSecretExpiresInMinutes: number }

/**
 * Gives a webhook a new signing secret (`webhook:manage`). Until the grace period ends, each delivery has a signature with the old secret
 * too; a secret that was old before signs no more. Throws 404. The new secret is returned only here.
 */
export const rotateWebhookSecret = (
  ctx: FleetContext,
  { oldSecretExpiresInMinutes, ...reference }: Rotation,
): Promise<Webhook & { secret: string }> =>
  withObject(ctx, webhookAccess(reference), async (connection) => {
    const { organizationId, webhookId } = reference
    await lockObject(connection, webhookAccess(reference))
    const secret = newWebhookSecret()
    const key = await dataKeyOf(connection, ctx.keyring, organizationId)
    const [webhook] = await queryEntities<Webhook>(
      connection,
      `UPDATE webhook SET sealed_secret = $sealedSecret,
         old_sealed_secret = CASE WHEN $minutes::int > 0 THEN sealed_secret END,
         old_secret_expires_at = CASE WHEN $minutes::int > 0 THEN now() + make_interval(mins => $minutes) END
       WHERE organization_id = $organizationId AND id = $webhookId RETURNING ${webhookColumns}`,
      {
        organizationId,
        webhookId,
        sealedSecret: key.seal(secret, webhookSecretPlace(webhookId)),
        minutes: oldSecretExpiresInMinutes,
      },
    )
    if (!webhook) throw notFound('webhook', webhookId)
    const detail = { oldSecretExpiresAt: webhook.oldSecretExpiresAt }
    await auditObject(ctx, connection, 'webhook.secret_rotated', webhookAccess(reference), detail)
    return { ...webhook, secret }
  })

/** Ends the signatures with the old secret of a webhook, if it has one (`webhook:manage`). Throws 404. */
export const endOldWebhookSecret = (ctx: FleetContext, reference: WebhookReference): Promise<void> =>
  withObject(ctx, webhookAccess(reference), async (connection) => {
    const { organizationId, webhookId } = reference
    const { rowCount } = await connection.query(
      `UPDATE webhook SET old_sealed_secret = NULL, old_secret_expires_at = NULL
       WHERE organization_id = $1 AND id = $2`,
      [organizationId, webhookId],
    )
    if (!rowCount) throw notFound('webhook', webhookId)
    await auditObject(ctx, connection, 'webhook.old_secret_ended', webhookAccess(reference))
  })
