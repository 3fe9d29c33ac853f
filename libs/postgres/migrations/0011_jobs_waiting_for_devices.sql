-- What lies in the devices' mailboxes: read by device when one asks, and in one go, second by second, for the hints in
-- the answers to their reports. Neither may depend on how many jobs have ended over the years.
CREATE INDEX job_in_mailbox ON job (device_id) WHERE status IN ('dispatched', 'inProgress') AND NOT acknowledged;
