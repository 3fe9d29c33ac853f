-- Rules about a modem that receives less than its neighbours. They have no threshold: radio health decides.
ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use', 'modem_down',
    'radio_fault'));
