CREATE INDEX device_search_folded ON device USING gin (organization_id, search_folded gin_trgm_ops)
  WHERE search_folded IS NOT NULL;
-- `organization_name_trgm` remains for processes of the previous version.
CREATE INDEX organization_name_folded ON organization USING gin (text_folded(name) gin_trgm_ops);
