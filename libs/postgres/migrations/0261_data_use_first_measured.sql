-- A new day is measured again after a minute, then ever less often, so that lists soon show what devices use.
ALTER TABLE data_use_day ADD COLUMN first_measured_at timestamptz;
