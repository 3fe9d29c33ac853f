-- Data use is measured for all organizations, because device lists show it. A measurement that takes long is repeated less often.
ALTER TABLE data_use_day ADD COLUMN took_ms double precision NOT NULL DEFAULT 0;
