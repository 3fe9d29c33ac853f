-- Without a lock, so that writes of others wait only for the index. If one adds such a serial in between, the migration fails and can
-- be applied again.
UPDATE device SET shares_serial = true FROM (
  SELECT id, row_number() OVER (PARTITION BY organization_id, text_folded(serial) ORDER BY id) AS place FROM device) numbered
 WHERE device.id = numbered.id AND place > 1;
CREATE UNIQUE INDEX device_folded_serial_taken ON device (organization_id, text_folded(serial)) WHERE NOT shares_serial;

-- Processes of the previous version expect a conflict of (organization_id, serial) only. They treat a row that is not inserted alike.
-- With the rights of the owner, because row level security does not let a tenant use an index by a function. A plan that was made
-- for an almost empty table would read all rows of an import again for each of its rows.
CREATE FUNCTION skip_taken_serial() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
  RETURN CASE WHEN EXISTS (SELECT FROM device WHERE organization_id = NEW.organization_id
    AND text_folded(serial) = text_folded(NEW.serial) AND NOT shares_serial) THEN NULL ELSE NEW END;
END $$;

CREATE TRIGGER device_serial_checked BEFORE INSERT ON device FOR EACH ROW EXECUTE FUNCTION skip_taken_serial();

-- For those devices that are left.
CREATE INDEX device_shares_serial ON device (organization_id) WHERE shares_serial;

-- The devices of the transaction's organization with one of these folded serials, those that share it last. With the rights of the
-- owner for the same reason.
CREATE FUNCTION devices_by_folded_serial(organization uuid, serials text[])
  RETURNS TABLE (id uuid, serial text, tags text[], shares_serial boolean)
  LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
  IF organization <> ALL (coalesce(tenant_organizations(), '{}')) THEN RETURN; END IF;
  RETURN QUERY SELECT d.id, d.serial, d.tags, d.shares_serial FROM device d
    WHERE d.organization_id = organization AND text_folded(d.serial) = ANY (serials) AND NOT d.shares_serial;
  RETURN QUERY SELECT d.id, d.serial, d.tags, d.shares_serial FROM device d
    WHERE d.organization_id = organization AND text_folded(d.serial) = ANY (serials) AND d.shares_serial;
END $$;
