-- Until its receiver has accepted a delivery, a webhook gets few attempts, however many events occur.
ALTER TABLE webhook
  -- When the receiver accepted the first delivery.
  ADD COLUMN confirmed_at timestamptz,
  -- Failed attempts before that, and until when there is none.
  ADD COLUMN failures integer NOT NULL DEFAULT 0,
  ADD COLUMN held_until timestamptz;
-- Webhooks that deliver today go on.
UPDATE webhook SET confirmed_at = now() WHERE disabled_at IS NULL;
