-- The stay of a device that `dwell.started` and `dwell.ended` spoke of last, as libs/fleet/dwell-events.ts keeps it: a stay
-- is written many times, also again after a crash, and each of the two is told once.
ALTER TABLE device ADD COLUMN announced_dwell jsonb;
