-- What an organization wants to be told about its devices.
CREATE TABLE alert_rule (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  enabled boolean NOT NULL,
  severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  kind text NOT NULL CONSTRAINT alert_rule_kind
    CHECK (kind IN ('offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place')),
  for_minutes integer NOT NULL CHECK (for_minutes >= 0),
  -- dBm of weak_signal, degrees Celsius of high_temperature.
  threshold double precision CONSTRAINT alert_rule_threshold
    CHECK ((threshold IS NOT NULL) = (kind IN ('weak_signal', 'high_temperature'))),
  place_id uuid CHECK ((place_id IS NOT NULL) = (kind IN ('entered_place', 'left_place'))),
  -- Null: all devices. Without a foreign key: the rule of a deleted group applies to no device.
  group_id uuid,
  -- A device must have all of them.
  tags text[] NOT NULL,
  notify_webhooks boolean NOT NULL,
  emails text[] NOT NULL,
  quiet_hours jsonb,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  UNIQUE (organization_id, id),
  CONSTRAINT alert_rule_place FOREIGN KEY (organization_id, place_id) REFERENCES place (organization_id, id)
);

CREATE TABLE alert (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  -- Without a foreign key: alerts outlive their rule, whose name and kind they keep.
  rule_id uuid NOT NULL,
  rule_name text NOT NULL,
  kind text NOT NULL,
  severity text NOT NULL,
  notify_webhooks boolean NOT NULL,
  -- Without a foreign key, which would lock the rows of devices that report. A trigger deletes the alerts of a device.
  device_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'acknowledged', 'closed')),
  -- Since when the condition holds.
  since timestamptz NOT NULL,
  measured jsonb NOT NULL,
  opened_at timestamptz NOT NULL,
  acknowledged_at timestamptz,
  acknowledged_by text,
  closed_at timestamptz,
  closed_by text,
  close_reason text,
  -- When the condition ended. An alert that was closed before does not open again until then.
  ended_at timestamptz,
  CHECK (ended_at IS NULL OR state = 'closed'),
  CHECK ((state = 'closed') = (closed_at IS NOT NULL))
);
-- One alert per rule and device, however many workers evaluate the rule.
CREATE UNIQUE INDEX alert_unended ON alert (rule_id, device_id) WHERE ended_at IS NULL;
CREATE INDEX alert_list ON alert (organization_id, id DESC);
CREATE INDEX alert_list_by_state ON alert (organization_id, state, id DESC);
CREATE INDEX alert_device ON alert (device_id);

-- On which side of a rule's place each device was seen last. `crossed`: it was on the other side before.
CREATE TABLE alert_side (
  rule_id uuid NOT NULL REFERENCES alert_rule ON DELETE CASCADE,
  device_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  inside boolean NOT NULL,
  since timestamptz NOT NULL,
  crossed boolean NOT NULL,
  PRIMARY KEY (rule_id, device_id)
);
CREATE INDEX alert_side_device ON alert_side (device_id);

CREATE FUNCTION forget_device_alerts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM alert_side WHERE device_id = OLD.id;
  IF TG_OP = 'DELETE' THEN
    DELETE FROM alert WHERE device_id = OLD.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER device_deleted_alerts AFTER DELETE ON device
  FOR EACH ROW EXECUTE FUNCTION forget_device_alerts();
CREATE TRIGGER device_transferred_alerts AFTER UPDATE OF organization_id ON device
  FOR EACH ROW WHEN (OLD.organization_id <> NEW.organization_id) EXECUTE FUNCTION forget_device_alerts();

-- A changed place gives its rules a new baseline.
CREATE FUNCTION forget_place_sides() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM alert_side USING alert_rule WHERE alert_rule.id = alert_side.rule_id AND alert_rule.place_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER place_area_changed AFTER UPDATE OF area ON place
  FOR EACH ROW WHEN (OLD.area <> NEW.area) EXECUTE FUNCTION forget_place_sides();

DO $$
DECLARE
  guarded text;
BEGIN
  FOREACH guarded IN ARRAY ARRAY['alert_rule', 'alert', 'alert_side']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('CREATE POLICY own_organizations ON %I TO routerfleet_tenant
      USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]))', guarded);
  END LOOP;
END $$;

-- Keys that hold all scopes of a viewer or an operator receive the new scopes of that role.
UPDATE api_key_grant SET scopes = scopes || '{alert:read}'
 WHERE scopes @> '{device:read,group:read,config:read,job:read,telemetry:read,fleet:read,org:read}'
   AND NOT 'alert:read' = ANY (scopes);
UPDATE api_key_grant SET scopes = scopes || '{alert:acknowledge,alert:write}'
 WHERE scopes @> '{alert:read,device:create,device:update,group:write,place:write,config:write,config:apply,job:create,job:cancel}'
   AND NOT 'alert:write' = ANY (scopes);
