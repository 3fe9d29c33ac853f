-- Finds the devices that run a profile, and those that run an old version of it.
CREATE INDEX device_of_profile ON device (organization_id, config_profile_id, id) WHERE config_profile_id IS NOT NULL;
