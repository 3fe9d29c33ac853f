-- Views of the web page that a caller saved: for itself, or for everybody in the organization.
CREATE TABLE saved_view (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  -- The address of the view, without `#/`.
  place text NOT NULL,
  shared boolean NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);
ALTER TABLE saved_view ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON saved_view TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
