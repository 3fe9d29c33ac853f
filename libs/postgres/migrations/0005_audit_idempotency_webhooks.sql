CREATE TABLE audit_entry (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  actor text NOT NULL,                      -- key:<id>, user:<sub>, device:<id>, system
  action text NOT NULL,                     -- device.created, device.status_changed, …
  subject_type text NOT NULL,
  subject_id text NOT NULL,
  detail jsonb NOT NULL DEFAULT '{}',
  request_id text,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX audit_entry_list ON audit_entry (organization_id, id DESC);
CREATE INDEX audit_entry_subject ON audit_entry (organization_id, subject_id, id DESC);

-- A first answer, kept 24 h; written in the transaction that did the work. headers and response are null for answers
-- that show a secret once.
CREATE TABLE idempotency_record (
  scope_hash bytea PRIMARY KEY,             -- SHA-256 over organization, principal, method, path and key
  organization_id uuid,
  request_hash bytea NOT NULL,
  status smallint NOT NULL,
  headers jsonb,
  response jsonb,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idempotency_record_age ON idempotency_record (created_at);

-- What must follow a committed change: taken out by the relay once it has become deliveries.
CREATE TABLE outbox_event (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE webhook (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  url text NOT NULL,
  events text[] NOT NULL,
  description text,
  sealed_secret bytea NOT NULL,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);

CREATE TABLE webhook_delivery (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  delivered_at timestamptz,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (webhook_id, event_id),
  FOREIGN KEY (organization_id, webhook_id) REFERENCES webhook (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_attempt_at) WHERE delivered_at IS NULL;
CREATE INDEX webhook_delivery_age ON webhook_delivery (created_at);
