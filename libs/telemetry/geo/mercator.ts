import { type Point, radians } from './geo.ts'

/** A position in units of the world's width, from the north-west corner: 0 to 1 within the map. */
export type WorldPoint = [x: number, y: number]

/** The latitude at which Web Mercator is square. */
export const maxMercatorLat = 85.051_128_779_806_59

/** The Web Mercator position. Latitudes beyond the map give y below 0 or above 1; the poles are cut off at 89.99°. */
export function worldPoint(lat: number, lon: number): WorldPoint {
  const sine = Math.sin(Math.max(-89.99, Math.min(89.99, lat)) * radians)
  return [(lon + 180) / 360, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)]
}

/** The position of a point of the map. */
export const pointOfWorld = ([x, y]: WorldPoint): Point => ({
  lat: Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) / radians,
  lon: x * 360 - 180,
})
