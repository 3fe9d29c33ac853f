-- A gateway's key may be bound to a group. Without a foreign key: after the deletion of the group the key stays bound, and
-- opens no device.
ALTER TABLE enrollment_key ADD COLUMN gateway_group_id uuid CHECK (gateway_group_id IS NULL OR allow_gateway);

-- Device edges keep what a gateway may do in memory. They are told of a device that leaves a bound group, and of a device
-- that gets a token of its own. A device that joins needs no notice: what is not in memory is looked up.
CREATE FUNCTION tell_gateway_group_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM enrollment_key
    WHERE organization_id = OLD.organization_id AND gateway_group_id = OLD.id AND revoked_at IS NULL)
  THEN PERFORM pg_notify('device_changed', 'organization:' || OLD.organization_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER gateway_group_changed AFTER UPDATE OF smart_tags ON device_group
  FOR EACH ROW WHEN (OLD.smart_tags <> NEW.smart_tags) EXECUTE FUNCTION tell_gateway_group_changed();
CREATE TRIGGER gateway_group_deleted AFTER DELETE ON device_group
  FOR EACH ROW EXECUTE FUNCTION tell_gateway_group_changed();

CREATE FUNCTION tell_gateway_members_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('device_changed', removed.device_id::text) FROM removed
    WHERE EXISTS (SELECT FROM enrollment_key k
      WHERE k.organization_id = removed.organization_id AND k.gateway_group_id = removed.group_id
        AND k.revoked_at IS NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER gateway_members_removed AFTER DELETE ON device_group_member
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION tell_gateway_members_removed();

CREATE FUNCTION tell_devices_have_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('device_changed', added.device_id::text) FROM added
    WHERE EXISTS (SELECT FROM enrollment_key k
      WHERE k.organization_id = added.organization_id AND k.allow_gateway AND k.revoked_at IS NULL);
  RETURN NULL;
END $$;
CREATE TRIGGER devices_have_tokens AFTER INSERT ON device_token
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_devices_have_tokens();

-- A plan decides whether the smart tags of groups count.
CREATE TRIGGER plan_changed AFTER UPDATE OF plan ON organization
  FOR EACH ROW WHEN (OLD.plan <> NEW.plan) EXECUTE FUNCTION tell_device_access_changed();
