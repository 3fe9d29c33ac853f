-- Requests have NFC from now on, and tags and models are compared as they are. A word that a list has in two encodings remains once.
CREATE FUNCTION pg_temp.composed(words text[]) RETURNS text[] LANGUAGE sql AS $$
  SELECT array_agg(word ORDER BY place) FROM (
    SELECT normalize(word, NFC) AS word, min(place) AS place FROM unnest(words) WITH ORDINALITY AS w (word, place) GROUP BY 1) kept
$$;
UPDATE device SET name = normalize(name, NFC), model = normalize(model, NFC)
 WHERE name || model IS NOT NFC NORMALIZED;
UPDATE device SET tags = pg_temp.composed(tags) WHERE array_to_string(tags, '') IS NOT NFC NORMALIZED;
UPDATE device_group SET smart_tags = pg_temp.composed(smart_tags) WHERE array_to_string(smart_tags, '') IS NOT NFC NORMALIZED;
UPDATE place SET tags = pg_temp.composed(tags) WHERE array_to_string(tags, '') IS NOT NFC NORMALIZED;
UPDATE alert_rule SET tags = pg_temp.composed(tags) WHERE array_to_string(tags, '') IS NOT NFC NORMALIZED;
UPDATE enrollment_key SET models = pg_temp.composed(models) WHERE array_to_string(models, '') IS NOT NFC NORMALIZED;
UPDATE firmware_image SET models = pg_temp.composed(models) WHERE array_to_string(models, '') IS NOT NFC NORMALIZED;
UPDATE config_profile SET model = normalize(model, NFC) WHERE model IS NOT NFC NORMALIZED;
UPDATE config_profile_version SET model = normalize(model, NFC) WHERE model IS NOT NFC NORMALIZED;

-- A name that is unique keeps its encoding if another object has the same name in NFC. Serials keep theirs: routers send them.
UPDATE device_group g SET name = normalize(name, NFC)
 WHERE name IS NOT NFC NORMALIZED AND NOT EXISTS (SELECT FROM device_group other
   WHERE other.organization_id = g.organization_id AND other.id <> g.id AND normalize(other.name, NFC) = normalize(g.name, NFC));
UPDATE place p SET name = normalize(name, NFC)
 WHERE name IS NOT NFC NORMALIZED AND NOT EXISTS (SELECT FROM place other
   WHERE other.organization_id = p.organization_id AND other.id <> p.id AND normalize(other.name, NFC) = normalize(p.name, NFC));

-- Most names are ASCII, whose folded form is in `search` already.
UPDATE device SET search_folded = text_folded(name || E'\x01' || serial || E'\x01' || model)
 WHERE octet_length(search) <> length(search) AND search <> text_folded(name || E'\x01' || serial || E'\x01' || model);
