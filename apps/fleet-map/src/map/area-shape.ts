import type { Area } from '../api/alert-types.ts'
import type { LonLat } from '../route/geometry.ts'
import { type Bounds, boundsOf } from './surface.ts'

const earthRadiusM = 6_371_008.8
const radians = Math.PI / 180
const circleCorners = 64

/** Returns the outline of an area. Longitudes can be beyond ±180°, so that an outline across the antimeridian does not jump. */
export function outlineOf(area: Area): LonLat[] {
  if (area.type === 'Circle') return circleRing(area)
  const ring: LonLat[] = []
  for (const [lon, lat] of area.coordinates[0] ?? []) {
    const before = ring.at(-1)?.[0] ?? lon
    ring.push([lon + 360 * Math.round((before - lon) / 360), lat])
  }
  return ring
}

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
  const [west, south, east, north] = boundsOfRings([ring]) ?? [0, 0, 0, 0]
  return [(west + east) / 2, (south + north) / 2]
}

/** Returns the box around outlines; null when there are none. */
export const boundsOfRings = (rings: readonly LonLat[][]): Bounds | null =>
  boundsOf(rings.flatMap((ring) => ring.map(([lon, lat]) => ({ lon, lat }))))
