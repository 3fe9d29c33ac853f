CREATE TABLE job_batch (
  -- Made by uuidv7() right before its jobs' ids, as last_job_id is right after: the batch's jobs lie between the two in
  -- job_list, which spares 100,000 entries in an index of their own.
  id uuid PRIMARY KEY,
  last_job_id uuid NOT NULL,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  kind text NOT NULL,
  status text NOT NULL CHECK (status IN ('scheduled', 'running', 'paused', 'finished', 'cancelled')),
  target jsonb NOT NULL,
  parameters jsonb NOT NULL DEFAULT '{}',
  profile_id uuid,
  profile_version integer,
  schedule jsonb,
  rollout jsonb,
  -- When its jobs' first attempts expire; null once that has been looked after.
  expires_at timestamptz,
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
  -- How many queued jobs wait for the batch itself: its start, its window, its rollout, or its resumption.
  held integer NOT NULL DEFAULT 0,
  -- False while the schedule's window is closed: nothing of the batch is handed to a device then.
  window_open boolean NOT NULL DEFAULT true,
  -- [{atMs, count}] of the last minute, for maxPerMinute.
  recent_releases jsonb NOT NULL DEFAULT '[]',
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  CHECK (queued + dispatched + in_progress + succeeded + failed + timed_out + cancelled + expired + rejected = total),
  UNIQUE (organization_id, id)
) WITH (fillfactor = 50);
CREATE INDEX job_batch_unfinished ON job_batch (id) WHERE finished_at IS NULL;
CREATE INDEX job_batch_expiry ON job_batch (expires_at);

-- 100,000 rows are inserted by one statement while a caller waits. Hence few indexes, and no foreign key on the batch or
-- the organization: the inserting statement takes both from the batch row it has just written. device_id has none either,
-- because finished jobs stay in their batch under the bare id after the device is gone.
CREATE TABLE job (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  batch_id uuid,
  device_id uuid NOT NULL,
  kind text NOT NULL,
  -- At most one of these is dispatched or in progress on a device at a time.
  exclusive boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'dispatched', 'inProgress', 'succeeded', 'failed', 'timedOut',
    'cancelled', 'expired', 'rejected')),
  attempt integer NOT NULL DEFAULT 1,
  max_attempts integer NOT NULL,
  parameters jsonb NOT NULL DEFAULT '{}',   -- of a job without a batch; the others' stand there
  lifetime_s integer NOT NULL,              -- what a retry gets again
  not_before timestamptz,
  deadline_at timestamptz,
  expires_at timestamptz NOT NULL,
  cancel_requested boolean NOT NULL DEFAULT false,
  acknowledged boolean NOT NULL DEFAULT false,
  progress smallint,
  result jsonb,
  error_code text,
  error_detail text,
  -- Why a queued job is not offered to the queue: its batch's rollout, or another exclusive job of its device.
  hold text CHECK (hold IN ('rollout', 'device')),
  -- Since when BullMQ knows the job in its present status; null: it has to be told.
  enqueued_at timestamptz,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz
) WITH (fillfactor = 70);
CREATE INDEX job_list ON job (organization_id, id);
-- With the status, so that a device's open jobs are found without reading through its past.
CREATE INDEX job_by_device ON job (device_id, status, id);
CREATE INDEX job_expiry ON job (expires_at)
  WHERE status IN ('queued', 'dispatched') AND (batch_id IS NULL OR attempt > 1);
CREATE INDEX job_not_enqueued ON job (organization_id, id)
  WHERE status = 'queued' AND enqueued_at IS NULL AND hold IS NULL;
CREATE INDEX job_waiting_in_queue ON job (organization_id, enqueued_at)
  WHERE status = 'queued' AND enqueued_at IS NOT NULL;
CREATE INDEX job_deadline ON job (deadline_at) WHERE status = 'inProgress';
CREATE INDEX job_deadline_not_enqueued ON job (id) WHERE status = 'inProgress' AND enqueued_at IS NULL;
CREATE INDEX job_held_by_device ON job (device_id) WHERE status = 'queued' AND hold = 'device';
CREATE UNIQUE INDEX job_one_exclusive ON job (device_id) WHERE exclusive AND status IN ('dispatched', 'inProgress');

-- Changes after creation; the first one, queued, is the job's own created_at and created_by.
CREATE TABLE job_event (
  job_id uuid NOT NULL REFERENCES job ON DELETE CASCADE,
  sequence bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  attempt integer NOT NULL,
  status text NOT NULL,
  by text NOT NULL,
  PRIMARY KEY (job_id, sequence)
);
