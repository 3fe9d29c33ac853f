-- One hundred thousand jobs are written while a caller waits, told to the queue and dispatched while others call. What
-- their batch can say for all of them is therefore said once, in its row, and not in indexes of every job:
-- - The ids of a batch's jobs follow each other directly after the batch's own (libs/fleet/batch-job-ids.ts), in order of
--   their devices' ids. So the primary key alone leads to them, and a list of jobs takes batch for batch from there.
-- - Jobs nothing has happened to yet are 'fresh', and the batch offers them to the queue in order of their ids without
--   writing to them: `offered` says how far it has come.
ALTER TABLE job_batch
  -- How many jobs are still fresh, and up to which of all its jobs it has offered those that are.
  ADD COLUMN fresh integer NOT NULL DEFAULT 0,
  ADD COLUMN offered integer NOT NULL DEFAULT 0,
  ADD COLUMN offered_at timestamptz;

ALTER TABLE job
  DROP CONSTRAINT job_hold_check,
  ADD CONSTRAINT job_hold_check CHECK (hold IN ('fresh', 'rollout', 'device'));

DROP INDEX job_list;
CREATE INDEX job_single_list ON job (organization_id, id) WHERE batch_id IS NULL;

-- Jobs are never deleted, and an event is written by the statement that has just changed its job. The constraint only
-- locked that job once more for every event.
ALTER TABLE job_event DROP CONSTRAINT job_event_job_id_fkey;
