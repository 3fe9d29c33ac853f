import type { Geometry } from './table.ts'

/** The column with the geometries in a GeoParquet file. */
export const geometryColumn = 'geometry'

/**
 * Collects what GeoParquet 1.1 says about the geometries of a file. Without `crs`, positions are longitude and latitude in
 * OGC:CRS84. The metadata of Parquet comes last, so the box of all geometries is known by then.
 */
export function geoMetadata() {
  const types = new Set<string>()
  const box = [Infinity, Infinity, -Infinity, -Infinity] as [number, number, number, number]
  const extend = (coordinates: Geometry['coordinates']): void => {
    const [lon, lat] = coordinates
    if (typeof lon !== 'number' || typeof lat !== 'number') {
      for (const part of coordinates) if (typeof part !== 'number') extend(part)
      return
    }
    box[0] = Math.min(box[0], lon)
    box[1] = Math.min(box[1], lat)
    box[2] = Math.max(box[2], lon)
    box[3] = Math.max(box[3], lat)
  }
  return {
    add({ type, coordinates }: Geometry): void {
      types.add(type)
      extend(coordinates)
    },
    /** The value of the key `geo`. */
    text: (): string =>
      JSON.stringify({
        version: '1.1.0',
        primary_column: geometryColumn,
        columns: {
          [geometryColumn]: {
            encoding: 'WKB',
            geometry_types: [...types].sort(),
            ...(types.size > 0 && { bbox: box }),
          },
        },
      }),
  }
}
