-- Rules about restarts, other SIMs and operators, and about the supply voltage.
ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  DROP CONSTRAINT alert_rule_threshold,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use', 'modem_down',
    'radio_fault', 'job_failed', 'profile_not_applied', 'config_differs', 'webhook_disabled',
    'rebooted', 'sim_changed', 'operator_changed', 'low_voltage')),
  ADD CONSTRAINT alert_rule_threshold
    CHECK ((threshold IS NOT NULL) = (kind IN ('weak_signal', 'high_temperature', 'low_voltage', 'data_use')));

-- What each rule about moments has last observed of a modem, or of the device (modem ''): the time of the start, the SIM or the
-- operator. `seen_at`: the time of the sample. `noticed_at`: when a worker found that the value had changed.
CREATE TABLE alert_baseline (
  rule_id uuid NOT NULL REFERENCES alert_rule ON DELETE CASCADE,
  device_id uuid NOT NULL,
  modem text NOT NULL,
  organization_id uuid NOT NULL,
  value text NOT NULL,
  shown jsonb NOT NULL,
  seen_at timestamptz NOT NULL,
  moment_at timestamptz,
  noticed_at timestamptz,
  measured jsonb,
  PRIMARY KEY (rule_id, device_id, modem)
);
CREATE INDEX alert_baseline_device ON alert_baseline (device_id);
CREATE INDEX alert_baseline_noticed ON alert_baseline (organization_id, noticed_at) WHERE noticed_at IS NOT NULL;

ALTER TABLE alert_baseline ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON alert_baseline TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));

CREATE OR REPLACE FUNCTION forget_device_alerts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM alert_side WHERE device_id = OLD.id;
  DELETE FROM alert_baseline WHERE device_id = OLD.id;
  IF TG_OP = 'DELETE' THEN
    DELETE FROM alert WHERE device_id = OLD.id;
    DELETE FROM device_data_use WHERE device_id = OLD.id;
  END IF;
  RETURN NULL;
END $$;
