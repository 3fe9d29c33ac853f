-- Jobs that wait for a good moment: {when, minQuality, latestAt, atLatest}. That of a batch applies to all its jobs.
ALTER TABLE job_batch ADD COLUMN delivery jsonb;
ALTER TABLE job ADD COLUMN delivery jsonb;
CREATE INDEX job_batch_deferred ON job_batch (organization_id) WHERE delivery IS NOT NULL AND finished_at IS NULL;
CREATE INDEX job_deferred ON job (organization_id)
  WHERE delivery IS NOT NULL AND status IN ('queued', 'dispatched', 'inProgress');

-- What devices that such jobs wait for last reported: the newest signal of the active modem, and whether the device dwells. No
-- reference to the device, because many rows are written each second; rows that are a day old are deleted.
CREATE TABLE device_moment (
  device_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  signal_at timestamptz,
  quality text,
  dwelling boolean,
  updated_at timestamptz NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE device_moment ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON device_moment TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
