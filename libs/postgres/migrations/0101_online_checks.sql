-- When to check whether an online device is offline: not later than it would be if it never reported again. Apart from the device's row,
-- because each check changes an indexed time, and a change of the device's row would then be entered in all indexes of `device`.
-- Without a foreign key, which would lock the rows of devices that report. A check of a deleted device deletes its row here.
CREATE TABLE device_online_check (
  device_id uuid PRIMARY KEY,
  check_at timestamptz NOT NULL
) WITH (fillfactor = 70);

-- Whatever makes a device online: its first check follows at once, and decides about the next one.
CREATE FUNCTION check_online_device() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO device_online_check (device_id, check_at) VALUES (NEW.id, now())
      ON CONFLICT (device_id) DO UPDATE SET check_at = LEAST(device_online_check.check_at, EXCLUDED.check_at);
  RETURN NULL;
END $$;

CREATE TRIGGER device_added_online AFTER INSERT ON device
  FOR EACH ROW WHEN (NEW.status = 'online') EXECUTE FUNCTION check_online_device();
CREATE TRIGGER device_became_online AFTER UPDATE OF status ON device
  FOR EACH ROW WHEN (NEW.status = 'online' AND OLD.status <> 'online') EXECUTE FUNCTION check_online_device();

INSERT INTO device_online_check (device_id, check_at)
SELECT id, offline_check_at FROM device WHERE status = 'online' ON CONFLICT DO NOTHING;
CREATE INDEX device_online_check_due ON device_online_check (check_at);
-- The column remains for processes of the version before, which search it without the index during an upgrade.
DROP INDEX device_offline_check;
