-- The worker serves organizations in turns. Each index finds the organizations that have work, and the work of one of them.
CREATE INDEX outbox_event_of_organization ON outbox_event (organization_id, id);
CREATE INDEX alert_unended_of_organization ON alert (organization_id, rule_id) WHERE ended_at IS NULL;
CREATE INDEX alert_mail_due_of_organization ON alert_mail (organization_id, next_attempt_at)
  WHERE sent_at IS NULL AND failed_at IS NULL;
