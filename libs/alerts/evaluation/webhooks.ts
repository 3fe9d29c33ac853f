import { announceOpened, batchSize, type RuleSlice } from '#alerts/evaluation/changes'
import { organizationSql, unendedOfSlice } from '#alerts/evaluation/scope'
import { type WrittenAlert, writtenColumns } from '#alerts/inbox/alert'
import { endChosen } from '#alerts/inbox/close-unended'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

// A rule about webhooks watches those of the whole organization, and not its devices.

/** Opens an alert for each rule and webhook that the service disabled, like `openAlerts`. Returns how many. */
export async function openWebhookAlerts(connection: Connection, slice: RuleSlice): Promise<number> {
  const opened = await queryEntities<WrittenAlert>(
    connection,
    `WITH found AS MATERIALIZED (
       SELECT r.id AS rule_id, r.organization_id, r.name, r.kind, r.severity, r.notify_webhooks, w.id AS webhook_id,
         w.disabled_at, jsonb_build_object('webhookId', w.id, 'reason', w.disabled_reason,
           'webhook', coalesce(w.description, substring(w.url FROM '^https://([^/?#]+)'))) AS measured
       FROM alert_rule r ${organizationSql} JOIN webhook w ON w.organization_id = r.organization_id
       WHERE r.organization_id = ANY ($organizationIds::uuid[]) AND r.id = ANY ($ruleIds::uuid[]) AND r.enabled
         AND r.kind = 'webhook_disabled' AND w.disabled_by_service
         AND w.disabled_at <= now() - make_interval(mins => r.for_minutes)
         AND NOT EXISTS (SELECT FROM alert open WHERE open.rule_id = r.id AND open.webhook_id = w.id AND open.ended_at IS NULL)
       ORDER BY r.id, w.id LIMIT ${batchSize}
     )
     INSERT INTO alert AS a (id, organization_id, rule_id, rule_name, kind, severity, notify_webhooks, webhook_id, since,
       measured, opened_at)
     SELECT id, organization_id, rule_id, name, kind, severity, notify_webhooks, webhook_id, disabled_at, measured,
       uuid_extract_timestamp(id)
     FROM (SELECT uuidv7() AS id, * FROM found) numbered
     ON CONFLICT (rule_id, webhook_id) WHERE ended_at IS NULL AND webhook_id IS NOT NULL DO NOTHING
     RETURNING ${writtenColumns}`,
    { ...slice },
  )
  await announceOpened(connection, opened)
  return opened.length
}

/** Ends the alerts whose webhook was enabled or deleted, or disabled by a person, like `endAlerts`. Returns how many. */
export const endWebhookAlerts = (connection: Connection, slice: RuleSlice): Promise<number> =>
  endChosen(
    connection,
    `SELECT a.id, 'condition_ended' AS reason FROM alert a JOIN alert_rule r ON r.id = a.rule_id ${organizationSql}
     WHERE ${unendedOfSlice} AND r.enabled AND a.webhook_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM webhook w
         WHERE w.organization_id = a.organization_id AND w.id = a.webhook_id AND w.disabled_by_service)
     LIMIT ${batchSize}`,
    { ...slice },
  )
