-- Values to which profiles refer: of an organization, a group or a device (owner_id). `variables` holds redacted JSON, `secrets`
-- {pointer: {sealed, updatedAt}} as in config_profile_version.
CREATE TABLE config_variable_set (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  owner_id uuid NOT NULL,
  group_id uuid,
  device_id uuid,
  priority integer NOT NULL DEFAULT 0,
  variables jsonb NOT NULL,
  secrets jsonb NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, owner_id),
  CHECK (owner_id = coalesce(device_id, group_id, organization_id)),
  FOREIGN KEY (organization_id, group_id) REFERENCES device_group (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, device_id) REFERENCES device (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX config_variable_set_group ON config_variable_set (organization_id, group_id) WHERE group_id IS NOT NULL;
CREATE INDEX config_variable_set_device ON config_variable_set (organization_id, device_id) WHERE device_id IS NOT NULL;

ALTER TABLE config_variable_set ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON config_variable_set TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));

-- The values of a job that applies a profile with variables, as they were at its creation.
ALTER TABLE job ADD COLUMN variables jsonb;

-- The values with which a device applied its present profile; no row for a profile without variables.
CREATE TABLE device_applied_variables (
  device_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  variables jsonb NOT NULL,
  FOREIGN KEY (organization_id, device_id) REFERENCES device (organization_id, id) ON DELETE CASCADE
);

ALTER TABLE device_applied_variables ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_applied_variables TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
