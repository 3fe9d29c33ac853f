-- Webhooks keep their earlier secret for a while after a rotation. A webhook whose receiver is overloaded slows down, and failed
-- deliveries are kept.
ALTER TABLE webhook
  ADD COLUMN old_sealed_secret bytea,
  -- Until when deliveries also have a signature with the earlier secret.
  ADD COLUMN old_secret_expires_at timestamptz,
  -- Since when the failed attempts of `failures` have followed each other.
  ADD COLUMN failing_since timestamptz,
  ADD CONSTRAINT webhook_old_secret CHECK ((old_sealed_secret IS NULL) = (old_secret_expires_at IS NULL));
UPDATE webhook SET failing_since = created_at WHERE failures > 0;

ALTER TABLE webhook_delivery
  ADD COLUMN first_attempt_at timestamptz,
  -- When the delivery was given up.
  ADD COLUMN failed_at timestamptz;
DROP INDEX webhook_delivery_due;
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_attempt_at)
  WHERE delivered_at IS NULL AND failed_at IS NULL;
