-- When a key was last used, to within a minute. Not a column of api_key: every change of that row is a notice to all
-- control planes to forget the key.
CREATE TABLE api_key_use (
  api_key_id text PRIMARY KEY REFERENCES api_key ON DELETE CASCADE,
  last_used_at timestamptz NOT NULL
);

-- The deliveries of a webhook, newest first.
CREATE INDEX webhook_delivery_list ON webhook_delivery (webhook_id, id DESC);
