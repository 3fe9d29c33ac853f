-- Named areas of an organization: depots, ports, borders.
CREATE TABLE place (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organization ON DELETE CASCADE,
  name text NOT NULL,
  tags text[] NOT NULL DEFAULT '{}',
  -- As in the API: {type: "Polygon", coordinates} or {type: "Circle", lat, lon, radiusM}.
  area jsonb NOT NULL,
  -- The ring of a polygon as (lon, lat), with longitudes that may exceed 180 degrees; null for a circle.
  ring polygon,
  -- Contains the area, in the same coordinates.
  bounds box NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id),
  CONSTRAINT place_name_taken UNIQUE (organization_id, name)
);
ALTER TABLE place ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_organizations ON place TO routerfleet_tenant
  USING (organization_id = ANY ((SELECT tenant_organizations())::uuid[]));

-- Whether a place contains a point.
CREATE FUNCTION place_contains(p place, lat double precision, lon double precision) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN NOT ((p).bounds @> point(lon, lat) OR (p).bounds @> point(lon + 360, lat)
           OR (p).bounds @> point(lon - 360, lat)) THEN false
    WHEN (p).ring IS NOT NULL THEN (p).ring @> point(lon, lat) OR (p).ring @> point(lon + 360, lat)
           OR (p).ring @> point(lon - 360, lat)
    ELSE 2 * 6371008.8 * asin(least(1, sqrt(
        sind((lat - ((p).area ->> 'lat')::float8) / 2) ^ 2
        + cosd(((p).area ->> 'lat')::float8) * cosd(lat) * sind((lon - ((p).area ->> 'lon')::float8) / 2) ^ 2)))
      <= ((p).area ->> 'radiusM')::float8
  END;

-- Keys that hold all scopes of an operator receive the new scope of that role.
UPDATE api_key_grant SET scopes = scopes || '{place:write}'
 WHERE scopes @> '{device:read,group:read,config:read,job:read,telemetry:read,fleet:read,org:read,device:create,device:update,group:write,config:write,config:apply,job:create,job:cancel}'
   AND NOT 'place:write' = ANY (scopes);
