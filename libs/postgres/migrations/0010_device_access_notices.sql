-- Device edges keep tokens in memory; whatever changes what a token may do is told to them, whoever changes it.
-- Payload: the device's id, or organization:<id>. New tokens need no notice: what is not in memory is looked up.
CREATE FUNCTION tell_device_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('device_changed', CASE TG_TABLE_NAME
    WHEN 'organization' THEN 'organization:' || OLD.id
    WHEN 'device' THEN OLD.id::text
    ELSE to_jsonb(OLD) ->> 'device_id' END);
  RETURN NULL;
END $$;

CREATE TRIGGER device_token_changed AFTER UPDATE OR DELETE ON device_token
  FOR EACH ROW EXECUTE FUNCTION tell_device_access_changed();

CREATE TRIGGER device_access_changed AFTER UPDATE ON device
  FOR EACH ROW WHEN (
    OLD.organization_id <> NEW.organization_id OR OLD.tags <> NEW.tags
    OR (OLD.status = 'disabled') <> (NEW.status = 'disabled')
  ) EXECUTE FUNCTION tell_device_access_changed();

CREATE TRIGGER subscription_changed AFTER UPDATE ON organization
  FOR EACH ROW WHEN (OLD.subscription_status <> NEW.subscription_status)
  EXECUTE FUNCTION tell_device_access_changed();
