-- Alerts about webhooks that the service disabled. Such an alert has a webhook instead of a device.
ALTER TABLE webhook
  -- Because its deliveries failed, and not by a person.
  ADD COLUMN disabled_by_service boolean NOT NULL DEFAULT false;

ALTER TABLE alert
  ALTER COLUMN device_id DROP NOT NULL,
  -- Without a foreign key: alerts outlive their webhook.
  ADD COLUMN webhook_id uuid,
  ADD CONSTRAINT alert_subject CHECK ((device_id IS NULL) <> (webhook_id IS NULL));
CREATE UNIQUE INDEX alert_unended_webhook ON alert (rule_id, webhook_id) WHERE ended_at IS NULL AND webhook_id IS NOT NULL;

ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use', 'modem_down',
    'radio_fault', 'job_failed', 'profile_not_applied', 'config_differs', 'webhook_disabled'));

-- An organization gets this rule with its first webhook.
INSERT INTO alert_rule (id, organization_id, name, enabled, severity, kind, for_minutes, tags, notify_webhooks, emails,
  chat_channel_ids, created_at, updated_at)
SELECT uuidv7(), organization_id, 'Webhook disabled', true, 'warning', 'webhook_disabled', 0, '{}', true,
  ARRAY(SELECT DISTINCT lower(email) FROM alert_rule r, unnest(r.emails) AS email
        WHERE r.organization_id = owner.organization_id AND EXISTS (SELECT FROM alert_address a
          WHERE a.organization_id = r.organization_id AND a.address = lower(email) AND a.state = 'confirmed') LIMIT 10),
  ARRAY(SELECT DISTINCT chat FROM alert_rule r, unnest(r.chat_channel_ids) AS chat
        WHERE r.organization_id = owner.organization_id LIMIT 10),
  now(), now()
FROM (SELECT DISTINCT organization_id FROM webhook) owner;
