import { joinRings, unwrapRing } from '#telemetry/geo/antimeridian'
import { earthRadiusM, radians } from '#telemetry/geo/geo'
import type { Area } from '../api/schemas.ts'
import type { LonLat } from '../route/geometry.ts'
import { boundsOf } from './surface.ts'

const circleCorners = 64

/** Returns the outline of an area. Longitudes can be beyond ±180°, so that an outline across the antimeridian does not jump. */
export const outlineOf = (area: Area): LonLat[] =>
  unwrapRing(area.type === 'Circle' ? circleRing(area) : ringOf(area)).map(([lon, lat]) => [lon, lat])

/** Returns the ring of a polygon, of which the service sends two parts if it crosses the antimeridian. */
export const ringOf = (polygon: Exclude<Area, { type: 'Circle' }>): LonLat[] =>
  polygon.type === 'Polygon'
    ? (polygon.coordinates[0] ?? [])
    : joinRings(polygon.coordinates.map(([ring = []]) => ring))

/** A circle on the sphere as a ring. */
function circleRing({ lat, lon, radiusM }: { lat: number; lon: number; radiusM: number }): LonLat[] {
  const angle = radiusM / earthRadiusM
  const [sinLat, cosLat] = [Math.sin(lat * radians), Math.cos(lat * radians)]
  return Array.from({ length: circleCorners + 1 }, (_, corner) => {
    const bearing = (corner / circleCorners) * 2 * Math.PI
    const sinOther = sinLat * Math.cos(angle) + cosLat * Math.sin(angle) * Math.cos(bearing)
    const turn = Math.atan2(Math.sin(bearing) * Math.sin(angle) * cosLat, Math.cos(angle) - sinLat * sinOther)
    return [lon + turn / radians, Math.asin(sinOther) / radians]
  })
}

/** Returns the middle of the box around an outline, where the name of a place stands. */
export function middleOf(ring: LonLat[]): LonLat {
  const [west, south, east, north] = boundsOf(ring) ?? [0, 0, 0, 0]
  return [(west + east) / 2, (south + north) / 2]
}
