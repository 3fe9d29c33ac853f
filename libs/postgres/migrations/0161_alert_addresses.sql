-- The e-mail addresses that alert rules name. Only confirmed ones receive alerts.
CREATE TABLE alert_address (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- In lower case. Rules keep the form in which it was written.
  address text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'confirmed', 'refused')),
  confirmed_by text CHECK (confirmed_by IN ('link', 'sign_in', 'upgrade')),
  -- When the state changed.
  changed_at timestamptz NOT NULL DEFAULT now(),
  -- The address of the page, for links. Null until a control plane of this version has started.
  base_url text,
  -- How often a confirmation was requested since the last long pause, and when it was the last time.
  requests integer NOT NULL DEFAULT 0,
  requested_at timestamptz,
  attempt integer NOT NULL DEFAULT 0,
  -- When the message with the link is due; null if none is.
  next_attempt_at timestamptz,
  sent_at timestamptz,
  PRIMARY KEY (organization_id, address),
  CHECK ((state = 'confirmed') = (confirmed_by IS NOT NULL))
);
CREATE INDEX alert_address_due ON alert_address (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

-- Links with which the owner of an address confirms or refuses it. Null: the link does not expire.
CREATE TABLE alert_address_link (
  token_hash bytea PRIMARY KEY,
  organization_id uuid NOT NULL,
  address text NOT NULL,
  expires_at timestamptz,
  FOREIGN KEY (organization_id, address) REFERENCES alert_address ON DELETE CASCADE
);
CREATE INDEX alert_address_link_of_address ON alert_address_link (organization_id, address);
CREATE INDEX alert_address_link_age ON alert_address_link (expires_at);

-- How many messages an organization sent on a UTC day.
CREATE TABLE alert_mail_day (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  day date NOT NULL,
  sent integer NOT NULL,
  PRIMARY KEY (organization_id, day)
);

DO $$
DECLARE
  guarded text;
BEGIN
  FOREACH guarded IN ARRAY ARRAY['alert_address', 'alert_address_link', 'alert_mail_day']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('CREATE POLICY own_organizations ON %I TO routerfleet_tenant
      USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]))', guarded);
  END LOOP;
END $$;

-- Addresses of present rules continue to receive alerts: an alarm must not stop because of an upgrade. Each message has a
-- link with which its reader refuses further ones.
INSERT INTO alert_address (organization_id, address, state, confirmed_by)
SELECT DISTINCT organization_id, lower(email), 'confirmed', 'upgrade' FROM alert_rule, unnest(emails) AS email;
