-- Counts the unfinished batches of an organization, of which it can have so many.
CREATE INDEX job_batch_unfinished_of_organization ON job_batch (organization_id) WHERE finished_at IS NULL;
