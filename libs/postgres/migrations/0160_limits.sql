-- Counts the unfinished batches of an organization, of which it can have so many.
CREATE INDEX job_batch_unfinished_of_organization ON job_batch (organization_id) WHERE finished_at IS NULL;
-- Finds the batches that can still deliver a version of a profile, before old versions are deleted.
CREATE INDEX job_batch_of_profile ON job_batch (organization_id, profile_id, profile_version) WHERE profile_id IS NOT NULL;
