-- E-mail about opened alerts: one message per rule and address, written in the transaction that opens the alerts.
CREATE TABLE alert_mail (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  rule_id uuid NOT NULL REFERENCES alert_rule ON DELETE CASCADE,
  address text NOT NULL,
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
CREATE UNIQUE INDEX alert_mail_waiting ON alert_mail (rule_id, address) WHERE attempt = 0;
CREATE INDEX alert_mail_sent ON alert_mail (rule_id, address, sent_at);
CREATE INDEX alert_mail_due ON alert_mail (next_attempt_at) WHERE sent_at IS NULL AND failed_at IS NULL;

ALTER TABLE alert_mail ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON alert_mail TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
