import { geoJsonGeometries, geoJsonList, geoJsonPositions } from '#client/route/geojson'
import { RouteFileError } from '#client/route/position'
import { onlyRing } from '#telemetry/geo/antimeridian'
import type { Area } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import { ringOf } from '../../map/area-shape.ts'
import type { LonLat } from '../../route/geometry.ts'

/** Returns an area in words, such as "Circle, 800 m". */
export const areaSummary = (area: Area): string =>
  area.type === 'Circle'
    ? `Circle, radius ${area.radiusM < 1_000 ? `${area.radiusM} m` : `${area.radiusM / 1_000} km`}`
    : `Polygon, ${count(ringOf(area).length - 1)} corners`

/** The corners of a polygon as text: one per line, latitude before longitude as maps show them. */
export const cornersText = (corners: readonly LonLat[]): string =>
  corners.map(([lon, lat]) => `${lat}, ${lon}`).join('\n')

/**
 * Reads the corners of a polygon from lines "latitude, longitude" or from GeoJSON: a Polygon, or a MultiPolygon, Feature or
 * collection with one. Returns a sentence if the text is neither.
 */
export function readCorners(text: string): LonLat[] | string {
  const trimmed = text.trim()
  return trimmed.startsWith('{') ? readGeoJson(trimmed) : readLines(trimmed)
}

function readLines(text: string): LonLat[] | string {
  const corners: LonLat[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const [lat, lon, ...rest] = line
      .trim()
      .split(/[\s,;]+/)
      .map((part) => (part === '' ? Number.NaN : Number(part)))
    const isPosition = lat !== undefined && lon !== undefined && Math.abs(lat) <= 90 && Math.abs(lon) <= 180
    if (!isPosition || rest.length > 0) return `Line ${index + 1} is not “latitude, longitude”.`
    corners.push([lon, lat])
  }
  return withoutClosing(corners)
}

function readGeoJson(text: string): LonLat[] | string {
  try {
    const polygons = geoJsonGeometries(text).flatMap(({ type, coordinates, pointer }) => {
      if (type !== 'Polygon' && type !== 'MultiPolygon') return []
      const rings = type === 'Polygon' ? [coordinates] : geoJsonList(coordinates, pointer)
      return rings.map((one) => geoJsonList(one, pointer).map((ring) => geoJsonPositions(ring, pointer)))
    })
    if (polygons.length === 0) return 'The GeoJSON has no Polygon.'
    if (polygons.some(({ length }) => length !== 1)) return 'A polygon with holes cannot be used.'
    const ring = onlyRing(polygons.map(([ring = []]) => ring))
    if (!ring) return `The GeoJSON has ${polygons.length} polygons. An area is one polygon.`
    return withoutClosing(ring.map(([lon, lat]) => [lon, lat]))
  } catch (error) {
    return error instanceof RouteFileError ? error.message : String(error)
  }
}

/** Removes the last corner if it repeats the first. */
function withoutClosing(corners: LonLat[]): LonLat[] {
  const [first, last] = [corners[0], corners.at(-1)]
  const isClosed = corners.length > 1 && first?.[0] === last?.[0] && first?.[1] === last?.[1]
  return isClosed ? corners.slice(0, -1) : corners
}
