-- The background of the map, for the whole installation: at most one row. Row security without a policy: no tenant reads it.
CREATE TABLE map_settings (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  settings jsonb NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE map_settings ENABLE ROW LEVEL SECURITY;
