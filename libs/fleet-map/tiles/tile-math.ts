import { type BoundingBox, degreeM, radians } from '#telemetry/geo/geo'
import { maxMercatorLat, pointOfWorld, type WorldPoint } from '#telemetry/geo/mercator'

/** A tile of the XYZ scheme: Web Mercator, x to the east, y to the south. */
export type Tile = { z: number; x: number; y: number }

/** Coordinates in a tile go from 0 to this value. */
export const extent = 4_096
export const maxTileZoom = 16

/** The tile that contains a position. Positions beyond the map belong to the nearest tile. */
export function tileOf([worldX, worldY]: WorldPoint, z: number): Tile {
  const perSide = 2 ** z
  const clamped = (world: number) => Math.max(0, Math.min(perSide - 1, Math.floor(world * perSide)))
  return { z, x: clamped(worldX), y: clamped(worldY) }
}

/** A number that identifies a tile among those of its zoom; below 2^32 up to zoom 16. */
export const tileKey = ({ z, x, y }: Tile): number => x * 2 ** z + y

/** The tile at a lower zoom that contains this tile. */
export const ancestorOf = ({ z, x, y }: Tile, zoom: number): Tile => ({
  z: zoom,
  x: Math.floor(x / 2 ** (z - zoom)),
  y: Math.floor(y / 2 ** (z - zoom)),
})

/** The tiles at a higher or the same zoom that this tile consists of. */
export function* descendantsOf({ z, x, y }: Tile, zoom: number): Generator<Tile> {
  const perSide = 2 ** (zoom - z)
  for (let column = 0; column < perSide; column++) {
    for (let row = 0; row < perSide; row++) yield { z: zoom, x: x * perSide + column, y: y * perSide + row }
  }
}

/** A position of the tile in its own coordinates, 0 to 4,095. Positions beyond the map are moved to its edge. */
export function pointInTile([worldX, worldY]: WorldPoint, { z, x, y }: Tile): [x: number, y: number] {
  const inTile = (world: number, tile: number) =>
    Math.max(0, Math.min(extent - 1, Math.floor((world * 2 ** z - tile) * extent)))
  return [inTile(worldX, x), inTile(worldY, y)]
}

/** The area of a tile, widened by a margin in metres. Tiles at the map's edge reach to the pole. */
export function tileBox({ z, x, y }: Tile, marginM: number): BoundingBox {
  const perSide = 2 ** z
  const marginLat = marginM / degreeM
  const north = y === 0 ? 90 : Math.min(90, latitudeAt(y / perSide) + marginLat)
  const south = y === perSide - 1 ? -90 : Math.max(-90, latitudeAt((y + 1) / perSide) - marginLat)
  const farthest = Math.min(maxMercatorLat, Math.max(Math.abs(north), Math.abs(south)))
  const marginLon = marginLat / Math.cos(farthest * radians)
  const west = (x / perSide) * 360 - 180 - marginLon
  const east = ((x + 1) / perSide) * 360 - 180 + marginLon
  if (east - west >= 360) return [-180, south, 180, north]
  return [west < -180 ? west + 360 : west, south, east > 180 ? east - 360 : east, north]
}

const latitudeAt = (worldY: number): number => pointOfWorld([0, worldY]).lat
