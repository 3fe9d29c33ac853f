-- The control plane keeps principals in memory; whatever changes what a key may do is told to it, whoever changes it.
-- Payload: the key's id.
CREATE FUNCTION tell_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('access_changed', to_jsonb(OLD) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;

CREATE TRIGGER api_key_changed AFTER UPDATE OR DELETE ON api_key
  FOR EACH ROW EXECUTE FUNCTION tell_access_changed('id');
CREATE TRIGGER api_key_grant_changed AFTER UPDATE OR DELETE ON api_key_grant
  FOR EACH ROW EXECUTE FUNCTION tell_access_changed('api_key_id');
