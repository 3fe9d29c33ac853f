-- A batch that was retried: how many jobs had failed until then, and when that was. They no longer pause or abort its rollout.
ALTER TABLE job_batch
  ADD COLUMN settled_failures integer NOT NULL DEFAULT 0,
  ADD COLUMN settled_at timestamptz;
