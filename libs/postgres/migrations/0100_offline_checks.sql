-- When to check whether the device is offline: not later than it would be if it never reported again. Reports rarely change it.
-- An index on `last_seen_at` instead made every report of a device a new entry in all of its indexes.
ALTER TABLE device ADD COLUMN offline_check_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX device_offline_check ON device (offline_check_at) WHERE status = 'online';
DROP INDEX device_offline_sweep;
