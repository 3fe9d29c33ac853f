-- Incoming webhooks of chat services, to which alert rules send messages for people.
CREATE TABLE chat_channel (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('slack', 'teams', 'mattermost')),
  -- The URL is a secret of its receiver: encrypted, and only its host is shown.
  sealed_url bytea NOT NULL,
  host text NOT NULL,
  -- The address of the page, for links in messages.
  base_url text NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (organization_id, id)
);

-- A rule's channels. Without foreign keys: a channel that a rule names cannot be deleted.
ALTER TABLE alert_rule ADD COLUMN chat_channel_ids uuid[] NOT NULL DEFAULT '{}';

-- Messages to channels: one per rule and channel about alerts that opened, or a test, which has no rule.
CREATE TABLE chat_message (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  channel_id uuid NOT NULL REFERENCES chat_channel ON DELETE CASCADE,
  rule_id uuid REFERENCES alert_rule ON DELETE CASCADE,
  -- The first alerts of the message, and how many there are.
  alert_ids uuid[] NOT NULL,
  alert_count integer NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL,
  sent_at timestamptz,
  failed_at timestamptz,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now()
);
-- Alerts that open while a message waits are added to it.
CREATE UNIQUE INDEX chat_message_waiting ON chat_message (rule_id, channel_id) WHERE attempt = 0;
CREATE INDEX chat_message_of_channel ON chat_message (channel_id, id DESC);
CREATE INDEX chat_message_sent ON chat_message (rule_id, channel_id, sent_at);
CREATE INDEX chat_message_due ON chat_message (organization_id, next_attempt_at) WHERE sent_at IS NULL AND failed_at IS NULL;

DO $$
DECLARE
  guarded text;
BEGIN
  FOREACH guarded IN ARRAY ARRAY['chat_channel', 'chat_message']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('CREATE POLICY own_organizations ON %I TO routerfleet_tenant
      USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]))', guarded);
  END LOOP;
END $$;
