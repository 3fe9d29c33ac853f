-- The town that was nearest to the last position of the device when the alert opened: name, country, distanceKm and bearing.
ALTER TABLE alert ADD COLUMN near jsonb;
