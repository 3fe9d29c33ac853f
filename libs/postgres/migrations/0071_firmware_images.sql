-- The firmware catalogue of an organization. Jobs copy what they need, so that a deleted image changes no job.
CREATE TABLE firmware_image (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  version text NOT NULL,
  url text NOT NULL,
  sha256 text NOT NULL,
  size_bytes bigint,
  models text[] NOT NULL DEFAULT '{}',      -- empty: any model
  notes text,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id),
  CONSTRAINT firmware_image_taken UNIQUE (organization_id, sha256)
);
ALTER TABLE firmware_image ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON firmware_image TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
