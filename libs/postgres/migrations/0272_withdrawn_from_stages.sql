-- A job of a batch has ended before its rollout released it, or the batch was retried: the jobs that are not held are no longer the
-- first ones of the batch, so the place of its rollout is read from the jobs instead of the counters.
ALTER TABLE job_batch ADD COLUMN is_out_of_order boolean NOT NULL DEFAULT false;
UPDATE job_batch SET is_out_of_order = true WHERE finished_at IS NULL AND rollout IS NOT NULL;
