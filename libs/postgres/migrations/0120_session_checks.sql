-- Sessions of an identity provider's users are checked again at the provider, so that a change there takes effect.
ALTER TABLE sign_in_session
  -- The tokens for the checks, encrypted. Null for sessions that are not checked: those of API keys, and those of users who
  -- signed in before this version. The roles of the latter stay until they expire.
  ADD COLUMN provider_tokens text,
  -- When the provider last stated the user's roles. The session does not work when this is long ago.
  ADD COLUMN confirmed_at timestamptz,
  ADD COLUMN check_at timestamptz;
CREATE INDEX sign_in_session_check ON sign_in_session (check_at) WHERE check_at IS NOT NULL;

-- Audit rows of sessions of platform administrators belong to no organization. audit_entry_list finds them.
ALTER TABLE audit_entry ALTER COLUMN organization_id DROP NOT NULL;
