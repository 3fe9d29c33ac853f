-- Rules about a modem without service while its router reports. They have no threshold.
ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use', 'modem_down'));
