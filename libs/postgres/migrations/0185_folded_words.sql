-- The form in which texts are equal for people: however their accents are encoded, and in upper or lower case. Postgres' own tables
-- give the same result on every machine and after every upgrade of its operating system, unlike a locale of ICU or libc, so an
-- index can hold it. The Turkish İ and ı count as i: people write them as I and i.
CREATE FUNCTION text_folded(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length($1) = length($1) THEN lower($1 COLLATE "C") ELSE
    translate(replace(normalize(casefold(normalize($1, NFD) COLLATE "pg_unicode_fast"), NFC), U&'i\0307', 'i'), U&'\0131', 'i')
      COLLATE "C" END
$$;

-- The folded form of what `q` searches. Null if it equals `search`, which is true for most devices.
ALTER TABLE device ADD COLUMN search_folded text,
  -- An older device whose serial differs from that of an older one only in case or encoding. Both remain; new ones are refused.
  ADD COLUMN shares_serial boolean NOT NULL DEFAULT false;

CREATE FUNCTION fold_device_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  words text := NEW.name || E'\x01' || NEW.serial || E'\x01' || NEW.model;
BEGIN
  NEW.search_folded := nullif(text_folded(words), lower(words));
  RETURN NEW;
END $$;

CREATE TRIGGER device_words_folded BEFORE INSERT OR UPDATE OF name, serial, model ON device
  FOR EACH ROW EXECUTE FUNCTION fold_device_words();
