-- When a worker that has a mail server ran last. One row, for all organizations.
CREATE TABLE mail_server (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  seen_at timestamptz NOT NULL
);

-- The last test message to an address: when it was requested, when it is due, when it was sent or given up, and why.
ALTER TABLE alert_address
  ADD COLUMN test_requested_at timestamptz,
  ADD COLUMN test_due_at timestamptz,
  ADD COLUMN test_ended_at timestamptz,
  ADD COLUMN test_error text;
CREATE INDEX alert_address_test_due ON alert_address (test_due_at) WHERE test_due_at IS NOT NULL;
