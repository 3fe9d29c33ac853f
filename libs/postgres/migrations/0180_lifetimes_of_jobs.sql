-- A job's lifetime counts from when devices may take it. `expires_at` of an unfinished batch says when the worker looks next
-- for its expired jobs; null: at once.
ALTER TABLE job_batch
  -- The lifetimes of its open jobs count from here at the earliest: from the last resume, or the window after it.
  ADD COLUMN deliverable_from timestamptz;
