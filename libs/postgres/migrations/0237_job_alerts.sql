-- Rules about jobs that did not succeed, and about devices with an earlier version of their profile.
ALTER TABLE alert_rule
  DROP CONSTRAINT alert_rule_kind,
  ADD CONSTRAINT alert_rule_kind CHECK (kind IN (
    'offline', 'no_fix', 'weak_signal', 'high_temperature', 'entered_place', 'left_place', 'data_use', 'modem_down',
    'radio_fault', 'job_failed', 'profile_not_applied'));
-- The jobs of the last days that did not succeed: few, beside those that did.
CREATE INDEX job_without_success ON job (organization_id, finished_at)
  WHERE status IN ('failed', 'timedOut', 'expired', 'rejected');
