-- The names of those who changed something in an organization, by the actor of audit rows. They stay when a person leaves or a key is
-- revoked. Names of the platform are not stored here.
CREATE TABLE actor_name (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  actor text NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (organization_id, actor)
);
INSERT INTO actor_name (organization_id, actor, name)
  SELECT g.organization_id, 'key:' || k.id, k.name FROM api_key k JOIN api_key_grant g ON g.api_key_id = k.id
  WHERE NOT k.platform;
INSERT INTO actor_name (organization_id, actor, name)
  SELECT DISTINCT ON (o.id, s.principal_id) o.id, s.principal_id, s.user_name
  FROM sign_in_session s JOIN organization o ON s.user_grants ? o.id::text
  WHERE s.user_name IS NOT NULL AND NOT s.user_platform
  ORDER BY o.id, s.principal_id, s.id DESC
ON CONFLICT DO NOTHING;

ALTER TABLE actor_name ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON actor_name TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
