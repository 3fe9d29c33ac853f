-- People who sign in with links. A person is known by an e-mail address, and has a role in one or more organizations.
CREATE TABLE person (
  id uuid PRIMARY KEY,
  email text NOT NULL,                    -- in lower case
  name text NOT NULL,
  -- The person used a link that was e-mailed to the address. Whoever creates an invitation without a mail server sees its link, and
  -- could use it. So such a person is not confirmed, and belongs to one organization only.
  is_confirmed boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Of the last time when the person joined an organization. People without organizations are deleted a day later.
  joined_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX person_email ON person (email) WHERE is_confirmed;
CREATE INDEX person_unconfirmed_email ON person (email) WHERE NOT is_confirmed;

CREATE TABLE person_role (
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  person_id uuid NOT NULL REFERENCES person ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  invited_by text NOT NULL,
  invited_by_name text,
  joined_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, person_id)
);
CREATE INDEX person_role_person ON person_role (person_id);

-- Control planes keep sessions in memory for some seconds.
CREATE TRIGGER person_changed AFTER UPDATE ON person FOR EACH ROW EXECUTE FUNCTION tell_access_changed('id');
CREATE TRIGGER person_role_changed AFTER UPDATE OR DELETE ON person_role
  FOR EACH ROW EXECUTE FUNCTION tell_access_changed('person_id');

CREATE TABLE invitation (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  email text NOT NULL,                    -- in lower case
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  invited_by text NOT NULL,
  invited_by_name text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- The row stays, so that an address cannot be written to again at once.
  withdrawn_at timestamptz,
  -- Messages to the address without a day between two of them.
  requests int NOT NULL DEFAULT 1,
  -- Where the page is, for the link in the message. Null: no message, because no mail server was set up. The link was shown once.
  base_url text,
  attempt int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  sent_at timestamptz,
  failed_at timestamptz,
  last_error text,
  UNIQUE (organization_id, email)
);
CREATE INDEX invitation_due ON invitation (organization_id, next_attempt_at)
  WHERE sent_at IS NULL AND failed_at IS NULL AND base_url IS NOT NULL;
CREATE INDEX invitation_age ON invitation (expires_at);

CREATE TABLE invitation_link (
  token_hash bytea PRIMARY KEY,
  invitation_id uuid NOT NULL REFERENCES invitation ON DELETE CASCADE,
  is_mailed boolean NOT NULL
);
CREATE INDEX invitation_link_invitation ON invitation_link (invitation_id);

-- Messages with a sign-in link that people asked for.
CREATE TABLE sign_in_mail (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  email text NOT NULL,
  base_url text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempt int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  sent_at timestamptz,
  failed_at timestamptz,
  last_error text
);
CREATE INDEX sign_in_mail_due ON sign_in_mail (organization_id, next_attempt_at) WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX sign_in_mail_email ON sign_in_mail (email, created_at);
CREATE INDEX sign_in_mail_age ON sign_in_mail (created_at);

-- A link signs in with the scopes of an API key, or as a person; one that was e-mailed, as the person with that address.
ALTER TABLE sign_in_link
  ALTER COLUMN api_key_id DROP NOT NULL,
  ADD COLUMN person_id uuid REFERENCES person ON DELETE CASCADE,
  ADD COLUMN email text,
  ADD CHECK (num_nonnulls(api_key_id, person_id, email) = 1);
CREATE INDEX sign_in_link_person ON sign_in_link (person_id) WHERE person_id IS NOT NULL;

-- The session has the roles of this person, beside those that an identity provider states. Null without such roles.
ALTER TABLE sign_in_session ADD COLUMN person_id uuid REFERENCES person ON DELETE CASCADE;
CREATE INDEX sign_in_session_person ON sign_in_session (person_id) WHERE person_id IS NOT NULL;

ALTER TABLE person_role ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON person_role TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON invitation TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
ALTER TABLE sign_in_mail ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON sign_in_mail TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));
-- A person can belong to several organizations, so work inside one organization never reads these tables.
REVOKE ALL ON person, invitation_link FROM routerfleet_tenant;
