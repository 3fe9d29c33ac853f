-- What SIMs of other operators would do in the places of each SIM, from the last comparison of its organization. `operators` is a list
-- of {plmn, noServiceMinutesPerDay, knownShare}. `gain_order` is the order of the list, the greatest gain first, unknown ones last.
CREATE TABLE device_sim_advice (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  device_id uuid NOT NULL REFERENCES device ON DELETE CASCADE,
  modem text,
  plmn text,
  minutes_per_day double precision NOT NULL,
  no_service_minutes_per_day double precision NOT NULL,
  operators jsonb NOT NULL,
  best_plmn text,
  gain_minutes_per_day double precision,
  gain_order double precision NOT NULL
);
CREATE INDEX device_sim_advice_order ON device_sim_advice (organization_id, gain_order, id);
CREATE INDEX device_sim_advice_device ON device_sim_advice (device_id);

ALTER TABLE device_sim_advice ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_sim_advice TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
