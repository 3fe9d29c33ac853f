-- Where a batch with stages is. Replicas of the previous version leave these columns at their defaults.
ALTER TABLE job_batch
  -- [{"startedAt", "endedAt"}] of the stages, in their order; null for times that are not known.
  ADD COLUMN stage_times jsonb NOT NULL DEFAULT '[]',
  -- After how many stages an operator resumed the batch.
  ADD COLUMN confirmed_stages integer NOT NULL DEFAULT 0,
  -- How many jobs had failed at the last resume. They no longer pause the batch.
  ADD COLUMN accepted_failures integer NOT NULL DEFAULT 0,
  -- Why a paused batch is paused; meaningless for others.
  ADD COLUMN pause_reason text CHECK (pause_reason IN ('operator', 'failures', 'stage')),
  -- The names at the time of creation, because the group or the profile may be renamed or deleted later.
  ADD COLUMN target_name text,
  ADD COLUMN profile_name text;
