import type { Bounds, View } from './surface.ts'

/** The width of a tile on the screen at its own zoom. */
export const tilePx = 512

/** Returns the width of the world in Web Mercator pixels at a zoom. */
const worldSize = (zoom: number): number => tilePx * 2 ** zoom

export const projectX = (lon: number, zoom: number): number => ((lon + 180) / 360) * worldSize(zoom)

export function projectY(lat: number, zoom: number): number {
  const clamped = Math.max(-85.0511, Math.min(85.0511, lat))
  const sine = Math.sin((clamped * Math.PI) / 180)
  return (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * worldSize(zoom)
}

export const unprojectX = (x: number, zoom: number): number => (x / worldSize(zoom)) * 360 - 180

export const unprojectY = (y: number, zoom: number): number =>
  (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / worldSize(zoom)))) * 180) / Math.PI

/** Returns the view that shows all of `bounds` in a box of this size in pixels. */
export function viewOf([west, south, east, north]: Bounds, width: number, height: number, maxZoom: number): View {
  const spanX = Math.max(1e-9, projectX(east, 0) - projectX(west, 0))
  const spanY = Math.max(1e-9, projectY(south, 0) - projectY(north, 0))
  const zoom = Math.max(1, Math.min(maxZoom, Math.log2(Math.min(width / spanX, height / spanY) * 0.8)))
  return {
    lon: (west + east) / 2,
    lat: unprojectY((projectY(north, zoom) + projectY(south, zoom)) / 2, zoom),
    zoom,
  }
}
