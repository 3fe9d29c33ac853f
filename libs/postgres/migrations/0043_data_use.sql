-- Rules about the data that devices use in a UTC day or month. Their threshold is in megabytes.
ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  DROP CONSTRAINT alert_rule_threshold,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use')),
  ADD CONSTRAINT alert_rule_threshold
    CHECK ((threshold IS NOT NULL) = (kind IN ('weak_signal', 'high_temperature', 'data_use'))),
  ADD COLUMN period text CHECK (period IN ('day', 'month')),
  ADD CONSTRAINT alert_rule_period CHECK ((period IS NOT NULL) = (kind = 'data_use'));

-- What each device used under each organization, of organizations with such rules. Measured again and again until the day is over.
CREATE TABLE device_data_use (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  device_id uuid NOT NULL,
  day date NOT NULL,
  bytes double precision NOT NULL,
  PRIMARY KEY (organization_id, device_id, day)
);
CREATE INDEX device_data_use_device ON device_data_use (device_id);
CREATE INDEX device_data_use_day ON device_data_use (day);

CREATE TABLE data_use_day (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  day date NOT NULL,
  measured_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, day)
);

ALTER TABLE device_data_use ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_data_use TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
ALTER TABLE data_use_day ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON data_use_day TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));

CREATE OR REPLACE FUNCTION forget_device_alerts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM alert_side WHERE device_id = OLD.id;
  IF TG_OP = 'DELETE' THEN
    DELETE FROM alert WHERE device_id = OLD.id;
    DELETE FROM device_data_use WHERE device_id = OLD.id;
  END IF;
  RETURN NULL;
END $$;
