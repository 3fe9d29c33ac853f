import type { Area } from '../../api/alert-types.ts'
import { count } from '../../components/format.ts'
import type { LonLat } from '../../route/geometry.ts'

/** Returns an area in words, such as "Circle, 800 m". */
export const areaSummary = (area: Area): string =>
  area.type === 'Circle'
    ? `Circle, radius ${area.radiusM < 1_000 ? `${area.radiusM} m` : `${area.radiusM / 1_000} km`}`
    : `Polygon, ${count((area.coordinates[0]?.length ?? 1) - 1)} corners`

/** The corners of a polygon as text: one per line, latitude before longitude as maps show them. */
export const cornersText = (corners: readonly LonLat[]): string =>
  corners.map(([lon, lat]) => `${lat}, ${lon}`).join('\n')

/**
 * Reads the corners of a polygon from lines "latitude, longitude" or from GeoJSON: a Polygon, or a Feature or collection
 * with one. Returns a sentence if the text is neither.
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
      .map(Number)
    const isPosition = lat !== undefined && lon !== undefined && Math.abs(lat) <= 90 && Math.abs(lon) <= 180
    if (!isPosition || rest.length > 0) return `Line ${index + 1} is not “latitude, longitude”.`
    corners.push([lon, lat])
  }
  return withoutClosing(corners)
}

type GeoJsonLike = { type?: string; coordinates?: LonLat[][]; geometry?: GeoJsonLike; features?: GeoJsonLike[] }

function readGeoJson(text: string): LonLat[] | string {
  let value: GeoJsonLike | undefined
  try {
    value = JSON.parse(text) as GeoJsonLike
  } catch {
    return 'This is not valid JSON.'
  }
  const polygon = value.features?.[0]?.geometry ?? value.geometry ?? value
  if (polygon.type !== 'Polygon' || !Array.isArray(polygon.coordinates)) return 'The GeoJSON has no Polygon.'
  if (polygon.coordinates.length !== 1) return 'A polygon with holes cannot be used.'
  const ring = polygon.coordinates[0] ?? []
  const isRing = ring.every((position) => Array.isArray(position) && position.slice(0, 2).every(Number.isFinite))
  if (!isRing) return 'The polygon contains a position without numbers.'
  return withoutClosing(ring.map(([lon, lat]) => [lon, lat]))
}

/** Removes the last corner if it repeats the first. */
function withoutClosing(corners: LonLat[]): LonLat[] {
  const [first, last] = [corners[0], corners.at(-1)]
  const isClosed = corners.length > 1 && first?.[0] === last?.[0] && first?.[1] === last?.[1]
  return isClosed ? corners.slice(0, -1) : corners
}
