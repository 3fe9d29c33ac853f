-- The second lock. Work inside an organization runs as routerfleet_tenant, which sees only rows of the organizations
-- named in app.organizations; a forgotten WHERE then finds nothing instead of somebody else's rows.
-- Roles belong to the cluster, not to the database, and two databases may be migrated at the same time.
-- Where the role exists already, the migrating role need not be allowed to make one.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'routerfleet_tenant') THEN
    CREATE ROLE routerfleet_tenant NOLOGIN NOINHERIT;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$
BEGIN
  EXECUTE format('GRANT routerfleet_tenant TO %I', current_user);
EXCEPTION WHEN OTHERS THEN
  IF NOT pg_has_role(current_user, 'routerfleet_tenant', 'MEMBER') THEN RAISE; END IF;
END $$;

CREATE FUNCTION tenant_organizations() RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE
  RETURN string_to_array(current_setting('app.organizations', true), ',')::uuid[];

-- The policies ask for it in a sub-select, which is evaluated once a statement instead of once a row.
GRANT USAGE ON SCHEMA public TO routerfleet_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO routerfleet_tenant;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO routerfleet_tenant;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO routerfleet_tenant;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO routerfleet_tenant;
REVOKE ALL ON schema_migration FROM routerfleet_tenant;

DO $$
DECLARE
  guarded text;
BEGIN
  FOREACH guarded IN ARRAY ARRAY['organization_usage', 'api_key_grant', 'enrollment_key', 'device', 'device_token',
    'device_ownership', 'erasure_request', 'device_group', 'device_group_member', 'organization_data_key',
    'config_profile', 'config_profile_version', 'job_batch', 'job', 'audit_entry', 'outbox_event', 'webhook',
    'webhook_delivery']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('CREATE POLICY own_organizations ON %I TO routerfleet_tenant
      USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]))', guarded);
  END LOOP;
END $$;
ALTER TABLE organization ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON organization TO routerfleet_tenant USING (id = ANY ((SELECT tenant_organizations())::uuid[]));
