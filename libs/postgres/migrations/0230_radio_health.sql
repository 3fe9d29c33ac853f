-- How the radios of each organization receive beside their neighbours, from its last comparison. `severity` and `offset_order` are
-- the order of the list, worst first.
CREATE TABLE device_radio_health (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  device_id uuid NOT NULL REFERENCES device ON DELETE CASCADE,
  modem text,
  status text NOT NULL CHECK (status IN ('fault', 'suspect', 'ok', 'unknown')),
  severity smallint NOT NULL,
  offset_order double precision NOT NULL,
  offset_db double precision,
  offset_low_db double precision,
  offset_high_db double precision,
  shared_cells integer NOT NULL,
  compared_devices integer NOT NULL,
  model text,
  model_offset_db double precision,
  since_at timestamptz
);
CREATE INDEX device_radio_health_order ON device_radio_health (organization_id, severity, offset_order, id);
CREATE INDEX device_radio_health_device ON device_radio_health (device_id);

-- The comparisons of an organization: the one that is wanted or under way, and the last one that finished, with its window.
CREATE TABLE radio_health_run (
  organization_id uuid PRIMARY KEY REFERENCES organization ON DELETE CASCADE,
  requested_at timestamptz,
  claimed_at timestamptz,
  finished_at timestamptz,
  window_from timestamptz,
  window_to timestamptz
);

ALTER TABLE device_radio_health ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_radio_health TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
ALTER TABLE radio_health_run ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON radio_health_run TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
