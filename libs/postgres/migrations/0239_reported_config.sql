-- The config that a device said to run. `settings` has no secrets; null: those of the profile. `matches`: it is the profile that was
-- applied, with its values; null if that cannot be known. `outdated`: another profile was applied since.
CREATE TABLE device_reported_config (
  device_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  profile_id uuid NOT NULL,
  version integer NOT NULL,
  digest text NOT NULL,
  settings jsonb,
  matches boolean,
  outdated boolean NOT NULL DEFAULT false,
  reported_at timestamptz NOT NULL,
  differs_since timestamptz,
  FOREIGN KEY (organization_id, device_id) REFERENCES device (organization_id, id) ON DELETE CASCADE
);
-- The few devices that differ.
CREATE INDEX device_reported_config_differs ON device_reported_config (organization_id, differs_since)
  WHERE differs_since IS NOT NULL;

ALTER TABLE device_reported_config ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_reported_config TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));

ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use', 'modem_down',
    'radio_fault', 'job_failed', 'profile_not_applied', 'config_differs'));
