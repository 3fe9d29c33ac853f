CREATE TABLE device_group (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  smart_tags text[] NOT NULL DEFAULT '{}',
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id),
  UNIQUE (organization_id, name)
);

CREATE TABLE device_group_member (
  organization_id uuid NOT NULL,
  group_id uuid NOT NULL,
  device_id uuid NOT NULL,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, group_id, device_id),
  FOREIGN KEY (organization_id, group_id) REFERENCES device_group (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, device_id) REFERENCES device (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX device_group_member_device ON device_group_member (organization_id, device_id);

-- The organization's data key for profile secrets, wrapped by CONFIG_SECRETS_KEY (key_id says by which one).
CREATE TABLE organization_data_key (
  organization_id uuid PRIMARY KEY REFERENCES organization ON DELETE CASCADE,
  key_id text NOT NULL,
  wrapped_key bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE config_profile (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  description text,
  model text,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);

-- Old versions are kept. settings holds redacted JSON; secrets hold {path: {ciphertext, updatedAt}} sealed with the data key.
CREATE TABLE config_profile_version (
  organization_id uuid NOT NULL,
  profile_id uuid NOT NULL,
  version integer NOT NULL,
  name text NOT NULL,
  description text,
  model text,
  settings jsonb NOT NULL,
  secrets jsonb NOT NULL DEFAULT '{}',
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, profile_id, version),
  FOREIGN KEY (organization_id, profile_id) REFERENCES config_profile (organization_id, id) ON DELETE CASCADE
);
