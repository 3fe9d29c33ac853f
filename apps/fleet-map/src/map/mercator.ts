import { maxMercatorLat, pointOfWorld, worldPoint } from '#telemetry/geo/mercator'

/** The width of a tile on the screen at its own zoom. */
export const tilePx = 512

/** Returns the width of the world in Web Mercator pixels at a zoom. */
const worldSize = (zoom: number): number => tilePx * 2 ** zoom

export const projectX = (lon: number, zoom: number): number => ((lon + 180) / 360) * worldSize(zoom)

export function projectY(lat: number, zoom: number): number {
  const [, y] = worldPoint(Math.max(-maxMercatorLat, Math.min(maxMercatorLat, lat)), 0)
  return y * worldSize(zoom)
}

export const unprojectX = (x: number, zoom: number): number => pointOfWorld([x / worldSize(zoom), 0]).lon

export const unprojectY = (y: number, zoom: number): number => pointOfWorld([0, y / worldSize(zoom)]).lat
