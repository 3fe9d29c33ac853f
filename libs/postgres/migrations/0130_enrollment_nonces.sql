-- An enrollment whose answer was lost is repeated with the nonce of the router. Only the hash of the nonce is stored, with the
-- token: what ends the token, such as a transfer, also ends the right to repeat.
ALTER TABLE device_token
  ADD COLUMN enrollment_nonce_hash bytea,
  ADD COLUMN enrolled_at timestamptz;         -- the first enrollment with this nonce, also of a token that a repeat issued
