CREATE TABLE device (
  id uuid PRIMARY KEY,                      -- fresh for every registration; also the id in telemetry storage
  organization_id uuid NOT NULL REFERENCES organization,
  serial text NOT NULL,
  name text NOT NULL,
  model text NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'provisioning'
    CHECK (status IN ('online', 'offline', 'provisioning', 'error', 'disabled')),
  last_seen_at timestamptz,
  -- Learned from its reports; silent for 3 × this (at least 5 min) means offline.
  reporting_interval_s real,
  firmware text,
  fault text,
  last_lat double precision,
  last_lon double precision,
  last_fix_at timestamptz,                  -- also set, without a position, at a transfer: older fixes are not the new owner's
  config_profile_id uuid,
  config_profile_version integer,
  revision bigint NOT NULL DEFAULT 1,       -- counts what people change; what If-Match is compared with
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- What `q` looks into. The separator is a character that neither the fields nor a query can contain.
  search text GENERATED ALWAYS AS (lower(name || E'\x01' || serial || E'\x01' || model)) STORED,
  UNIQUE (organization_id, id),
  CONSTRAINT device_serial_taken UNIQUE (organization_id, serial)
) WITH (fillfactor = 80);
CREATE INDEX device_tags ON device USING gin (organization_id, tags);
CREATE INDEX device_search ON device USING gin (organization_id, search gin_trgm_ops);
CREATE INDEX device_organization_status ON device (organization_id, status, id DESC);
CREATE INDEX device_offline_sweep ON device (last_seen_at) WHERE status = 'online';

CREATE TABLE device_token (
  id text PRIMARY KEY,                      -- the public part of fld_<id>_…
  organization_id uuid NOT NULL,
  device_id uuid NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,                   -- null: no expiry; set to now + 24 h when a newer token replaces it
  FOREIGN KEY (organization_id, device_id) REFERENCES device (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX device_token_device ON device_token (device_id);

-- Whose history is whose: telemetry measured in [owned_from, owned_to) belongs to this organization. No foreign key
-- to device: the intervals outlive a transfer. They are deleted with the device, which hides its history at once.
CREATE TABLE device_ownership (
  device_id uuid NOT NULL,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  owned_from timestamptz NOT NULL,
  owned_to timestamptz,
  PRIMARY KEY (device_id, owned_from),
  CHECK (owned_to IS NULL OR owned_to >= owned_from)
);
CREATE UNIQUE INDEX device_ownership_current ON device_ownership (device_id) WHERE owned_to IS NULL;
CREATE INDEX device_ownership_organization ON device_ownership (organization_id, device_id);

-- Devices whose telemetry is to be overwritten in storage; the row goes when the erasure is done and verified.
CREATE TABLE erasure_request (
  device_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz
);
