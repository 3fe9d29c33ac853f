import { isConfirmedSql } from '#alerts/addresses/address'
import { newId } from '#core/ids'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { createWebhook, type NewWebhook, type Webhook } from '#fleet/webhooks/webhooks'
import { named } from '#postgres/named'
import type { Connection } from '#postgres/pool'

/**
 * Creates a webhook like `createWebhook`. With the first one, the organization gets an alert rule that tells when the service
 * disables a webhook, unless it has such a rule.
 */
export const createWatchedWebhook = (ctx: FleetContext, webhook: NewWebhook): Promise<Webhook & { secret: string }> =>
  createWebhook(ctx, webhook, (connection, { id }) => watch(ctx, connection, { ...webhook, id }))

const name = 'Webhook disabled'

/** The rule uses the channels of the other rules, because these reach people of the organization. */
async function watch(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, id: webhookId }: { organizationId: string; id: string },
): Promise<void> {
  const id = newId()
  const { rowCount } = await connection.query(
    named(
      `INSERT INTO alert_rule (id, organization_id, name, enabled, severity, kind, for_minutes, tags, notify_webhooks, emails,
         chat_channel_ids, created_at, updated_at)
       SELECT $id, $organizationId, $name, true, 'warning', 'webhook_disabled', 0, '{}', true,
         ARRAY(SELECT DISTINCT lower(email) FROM alert_rule r, unnest(r.emails) AS email
               WHERE r.organization_id = $organizationId AND ${isConfirmedSql('r.organization_id', 'email')} LIMIT 10),
         ARRAY(SELECT DISTINCT chat FROM alert_rule r, unnest(r.chat_channel_ids) AS chat
               WHERE r.organization_id = $organizationId LIMIT 10),
         uuid_extract_timestamp($id), uuid_extract_timestamp($id)
       WHERE NOT EXISTS (SELECT FROM webhook WHERE organization_id = $organizationId AND id <> $webhookId)
         AND NOT EXISTS (SELECT FROM alert_rule WHERE organization_id = $organizationId AND kind = 'webhook_disabled')`,
      { id, organizationId, name, webhookId },
    ),
  )
  if (!rowCount) return
  await auditObject(ctx, connection, 'alert_rule.created', { organizationId, id }, { name, kind: 'webhook_disabled' })
}
