-- A gateway reports for devices that cannot hold a token. Its enrollment key says for which organization.
ALTER TABLE enrollment_key ADD COLUMN allow_gateway boolean NOT NULL DEFAULT false;

-- What a gateway may know of a device beside its serial.
CREATE TABLE device_identifier (
  organization_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('imei', 'mac')),
  value text NOT NULL,                      -- 15 digits, or 12 lower-case hex digits
  device_id uuid NOT NULL,
  CONSTRAINT device_identifier_taken PRIMARY KEY (organization_id, kind, value),
  FOREIGN KEY (organization_id, device_id) REFERENCES device (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX device_identifier_device ON device_identifier (device_id);

ALTER TABLE device_identifier ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_identifier TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));

-- Device edges keep what a gateway may do in memory, as they do for tokens.
CREATE FUNCTION tell_gateway_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('device_changed', 'organization:' || OLD.organization_id);
  RETURN NULL;
END $$;

CREATE TRIGGER gateway_key_changed AFTER UPDATE ON enrollment_key
  FOR EACH ROW WHEN (
    OLD.allow_gateway AND (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at
      OR OLD.expires_at IS DISTINCT FROM NEW.expires_at OR NOT NEW.allow_gateway)
  ) EXECUTE FUNCTION tell_gateway_access_changed();
CREATE TRIGGER gateway_key_deleted AFTER DELETE ON enrollment_key
  FOR EACH ROW WHEN (OLD.allow_gateway) EXECUTE FUNCTION tell_gateway_access_changed();

CREATE FUNCTION tell_device_identifier_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('device_changed', OLD.device_id::text);
  RETURN NULL;
END $$;
CREATE TRIGGER device_identifier_changed AFTER UPDATE OR DELETE ON device_identifier
  FOR EACH ROW EXECUTE FUNCTION tell_device_identifier_changed();
-- A device that is deleted has no token whose deletion would be told.
CREATE TRIGGER device_deleted AFTER DELETE ON device
  FOR EACH ROW EXECUTE FUNCTION tell_device_access_changed();
