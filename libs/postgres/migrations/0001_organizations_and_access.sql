-- Organizations share one installation. Every table below carries organization_id, and every reference between
-- tables of one organization includes it, so that a cross-organization reference cannot be stored at all.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;   -- lets one index hold organization and tags, or organization and trigrams

CREATE TABLE organization (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  plan text NOT NULL,
  subscription_status text NOT NULL DEFAULT 'active'
    CHECK (subscription_status IN ('trialing', 'active', 'past_due', 'suspended', 'cancelled')),
  -- Since when the status is what it is: telemetry stays accepted for 30 days after suspension.
  subscription_changed_at timestamptz NOT NULL DEFAULT now(),
  -- Null: the plan's quota.
  device_quota integer CHECK (device_quota >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX organization_name_trgm ON organization USING gin (lower(name) gin_trgm_ops);

-- One counter row an organization, changed in the transaction that creates, moves or deletes the device.
CREATE TABLE organization_usage (
  organization_id uuid PRIMARY KEY REFERENCES organization ON DELETE CASCADE,
  device_count integer NOT NULL DEFAULT 0 CHECK (device_count >= 0)
);

CREATE TABLE api_key (
  id text PRIMARY KEY,                      -- the public part of flk_<id>_…
  organization_id uuid REFERENCES organization ON DELETE CASCADE,   -- null: a platform key
  name text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  platform boolean NOT NULL DEFAULT false,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  CHECK (platform = (organization_id IS NULL))
);
CREATE INDEX api_key_organization ON api_key (organization_id, created_at DESC, id);

-- What a key may do where: its own organization and, for service providers, further ones.
CREATE TABLE api_key_grant (
  api_key_id text NOT NULL REFERENCES api_key ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  scopes text[] NOT NULL,
  PRIMARY KEY (api_key_id, organization_id)
);

CREATE TABLE enrollment_key (
  id text NOT NULL,                         -- the public part of fle_<id>_…
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  auto_create boolean NOT NULL,
  models text[],                            -- null: any model
  max_devices integer CHECK (max_devices > 0),
  enrolled_count integer NOT NULL DEFAULT 0,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (id),
  UNIQUE (organization_id, id)
);
