-- The numbers of alerts that are not closed, by severity. The page reads them often, so the index contains all that they need.
CREATE INDEX alert_unhandled ON alert (organization_id, severity, state) INCLUDE (device_id, rule_id)
  WHERE state IN ('open', 'acknowledged');
