import { createLongitudeStripes } from '#telemetry/geo/longitude-stripes'
import type { Geometry } from './table.ts'

/** The column with the geometries in a GeoParquet file. */
export const geometryColumn = 'geometry'

type Coordinates = Geometry['coordinates']

/**
 * Collects what GeoParquet 1.1 says about the geometries of a file. Without `crs`, positions are longitude and latitude in
 * OGC:CRS84. The metadata of Parquet comes last, so the box of all geometries is known by then. As in RFC 7946 (5.2), its west is
 * greater than its east across the antimeridian.
 */
export function geoMetadata() {
  const types = new Set<string>()
  const longitudes = createLongitudeStripes()
  let [south, north] = [Infinity, -Infinity]

  /** Adds positions of one part of a geometry, which is at one side of the antimeridian. */
  function addPart(positions: Coordinates): void {
    let [west, east] = [Infinity, -Infinity]
    for (const position of positions) {
      const [lon, lat] = position as readonly number[]
      if (lon === undefined || lat === undefined) continue
      west = Math.min(west, lon)
      east = Math.max(east, lon)
      south = Math.min(south, lat)
      north = Math.max(north, lat)
    }
    if (west <= east) longitudes.add(west, east)
  }
  function addParts(coordinates: Coordinates): void {
    const [first] = coordinates
    if (typeof first === 'number') addPart([coordinates])
    else if (typeof first?.[0] === 'number') addPart(coordinates)
    else for (const part of coordinates) addParts(part as Coordinates)
  }
  return {
    add({ type, coordinates }: Geometry): void {
      types.add(type)
      addParts(coordinates)
    },
    /** The value of the key `geo`. */
    text(): string {
      const span = longitudes.span()
      return JSON.stringify({
        version: '1.1.0',
        primary_column: geometryColumn,
        columns: {
          [geometryColumn]: {
            encoding: 'WKB',
            geometry_types: [...types].sort(),
            ...(span && { bbox: [span[0], south, span[1], north] }),
          },
        },
      })
    },
  }
}
