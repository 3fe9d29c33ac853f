-- A batch pins a version of a profile, and can be retried after the profile was deleted. So versions outlive their profile:
-- the service deletes those that no batch needs, at once or later. A trigger marks them, because replicas of the previous
-- version delete profiles and rely on the database to delete the versions.
ALTER TABLE config_profile_version
  ADD COLUMN profile_deleted_at timestamptz,
  ADD FOREIGN KEY (organization_id) REFERENCES organization ON DELETE CASCADE,
  DROP CONSTRAINT config_profile_version_organization_id_profile_id_fkey;
CREATE INDEX config_version_of_deleted_profile ON config_profile_version (organization_id, profile_id, version)
  WHERE profile_deleted_at IS NOT NULL;
-- Its columns never change, so updates of the counters of a batch do not touch it.
CREATE INDEX job_batch_of_profile ON job_batch (organization_id, profile_id, profile_version)
  WHERE profile_id IS NOT NULL;

CREATE FUNCTION mark_versions_of_deleted_profile() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE config_profile_version SET profile_deleted_at = now()
  WHERE organization_id = OLD.organization_id AND profile_id = OLD.id;
  RETURN NULL;
END $$;

CREATE TRIGGER profile_deleted AFTER DELETE ON config_profile
  FOR EACH ROW EXECUTE FUNCTION mark_versions_of_deleted_profile();
