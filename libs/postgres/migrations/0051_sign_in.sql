-- People sign in on the web page: with a link that an API key created, or at an identity provider.
CREATE TABLE sign_in_link (
  token_hash bytea PRIMARY KEY,
  api_key_id text NOT NULL REFERENCES api_key ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_link_age ON sign_in_link (expires_at);

CREATE TABLE sign_in_session (
  id uuid PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE,         -- of the cookie
  principal_id text NOT NULL,               -- key:<id> or user:<issuer>|<subject>, as in audit rows
  -- The session has the scopes of this key. Null for a user of an identity provider.
  api_key_id text REFERENCES api_key ON DELETE CASCADE,
  user_name text,
  -- The user's roles and scopes by organization, as the provider stated them at the sign-in.
  user_grants jsonb,
  user_platform boolean NOT NULL DEFAULT false,
  user_agent text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  CHECK ((api_key_id IS NULL) = (user_grants IS NOT NULL)),
  CHECK (api_key_id IS NULL OR NOT user_platform)
);
CREATE INDEX sign_in_session_list ON sign_in_session (principal_id, id DESC);
CREATE INDEX sign_in_session_age ON sign_in_session (expires_at);

CREATE TABLE sign_in_session_use (
  session_id uuid PRIMARY KEY REFERENCES sign_in_session ON DELETE CASCADE,
  last_used_at timestamptz NOT NULL
);

-- Control planes keep sessions in memory for some seconds.
CREATE TRIGGER sign_in_session_changed AFTER UPDATE OR DELETE ON sign_in_session
  FOR EACH ROW EXECUTE FUNCTION tell_access_changed('id');

-- Sessions belong to people and not to one organization, so work inside an organization never reads them.
REVOKE ALL ON sign_in_link, sign_in_session, sign_in_session_use FROM routerfleet_tenant;
