CREATE TABLE job_batch (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  kind text NOT NULL,
  status text NOT NULL CHECK (status IN ('scheduled', 'running', 'paused', 'finished', 'cancelled')),
  target jsonb NOT NULL,
  parameters jsonb NOT NULL DEFAULT '{}',
  profile_id uuid,
  profile_version integer,
  schedule jsonb,
  rollout jsonb,
  total integer NOT NULL,
  skipped jsonb NOT NULL DEFAULT '[]',
  queued integer NOT NULL DEFAULT 0,
  dispatched integer NOT NULL DEFAULT 0,
  in_progress integer NOT NULL DEFAULT 0,
  succeeded integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  timed_out integer NOT NULL DEFAULT 0,
  cancelled integer NOT NULL DEFAULT 0,
  expired integer NOT NULL DEFAULT 0,
  rejected integer NOT NULL DEFAULT 0,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  UNIQUE (organization_id, id)
);
CREATE INDEX job_batch_list ON job_batch (organization_id, id DESC);

-- device_id has no foreign key: finished jobs stay in their batch under the bare id after the device is gone.
CREATE TABLE job (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  batch_id uuid,
  device_id uuid NOT NULL,
  kind text NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'dispatched', 'inProgress', 'succeeded', 'failed', 'timedOut',
    'cancelled', 'expired', 'rejected')),
  attempt integer NOT NULL DEFAULT 1,
  max_attempts integer NOT NULL,
  parameters jsonb NOT NULL DEFAULT '{}',
  not_before timestamptz,
  deadline_at timestamptz,
  expires_at timestamptz NOT NULL,
  cancel_requested boolean NOT NULL DEFAULT false,
  progress smallint,
  result jsonb,
  error_code text,
  error_detail text,
  enqueued_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, batch_id) REFERENCES job_batch (organization_id, id) ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX job_not_enqueued ON job (organization_id, id) WHERE status = 'queued' AND enqueued_at IS NULL;
CREATE INDEX job_open_by_device ON job (device_id, id) WHERE status IN ('queued', 'dispatched', 'inProgress');
CREATE INDEX job_by_batch_status ON job (batch_id, status, id);
CREATE INDEX job_list ON job (organization_id, id DESC);
CREATE INDEX job_by_device ON job (organization_id, device_id, id DESC);

CREATE TABLE job_event (
  job_id uuid NOT NULL REFERENCES job ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempt integer NOT NULL,
  status text NOT NULL,
  by text NOT NULL,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (job_id, sequence)
);
