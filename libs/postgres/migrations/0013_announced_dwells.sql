-- The stay of a device that `dwell.started` and `dwell.ended` spoke of last, as libs/fleet/dwell-events.ts keeps it: a stay
-- is written many times, also again after a crash, and each of the two is told once.
--
-- Of devices that are there already, stays count as told that began before now: nobody is told of all the past.
ALTER TABLE device ADD COLUMN announced_dwell jsonb DEFAULT jsonb_build_object(
  'dwellId', '', 'arrivedAtMs', floor(extract(epoch FROM now()) * 1000), 'lat', 0, 'lon', 0, 'radiusM', 0, 'state', 'ended');
ALTER TABLE device ALTER COLUMN announced_dwell DROP DEFAULT;
