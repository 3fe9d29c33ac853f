-- A worker claims a day of an organization before it measures, so that no transaction is open while it reads QuestDB. A day that was
-- claimed but never measured has no time yet, as processes of the version before expect of a day without a row.
ALTER TABLE data_use_day
  ALTER COLUMN measured_at DROP NOT NULL,
  ADD COLUMN claimed_at timestamptz;
