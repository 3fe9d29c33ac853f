-- How far each copy of QuestDB is, by partition of the telemetry log. Rows change every two seconds.
--   stored_to: queries of the copy return all reports that were in the log at this time of this database's clock; null if
--     that is not known yet.
--   told_position: the state of devices and the dwell events contain all reports before this position of the log.
CREATE TABLE copy_progress (
  copy text NOT NULL,
  partition integer NOT NULL,
  stored_to timestamptz,
  told_position bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (copy, partition)
) WITH (fillfactor = 50);
REVOKE ALL ON copy_progress FROM routerfleet_tenant;
