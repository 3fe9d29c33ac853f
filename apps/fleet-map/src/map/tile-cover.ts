import { projectX, projectY, tilePx } from './mercator.ts'
import type { Bounds } from './surface.ts'

export type TileId = { z: number; x: number; y: number }

/** The highest zoom of the service's tiles. */
export const maxTileZoom = 16

export const keyOf = ({ z, x, y }: TileId): string => `${z}/${x}/${y}`

/** Returns the tiles that cover a view, each once, even if the map repeats the world. */
export function tilesCovering([west, south, east, north]: Bounds, zoom: number): TileId[] {
  const z = Math.max(0, Math.min(maxTileZoom, Math.floor(zoom)))
  const perSide = 2 ** z
  const firstColumn = columnOf(west, z)
  const columns = Math.min(perSide, columnOf(east, z) - firstColumn + 1)
  const tiles: TileId[] = []
  for (let y = rowOf(north, z); y <= rowOf(south, z); y++)
    for (let index = 0; index < columns; index++)
      tiles.push({ z, x: (((firstColumn + index) % perSide) + perSide) % perSide, y })
  return tiles
}

/** Returns whether a tile contains a position. */
export const isInTile = ({ z, x, y }: TileId, { lon, lat }: { lon: number; lat: number }): boolean =>
  columnOf(lon, z) === x && rowOf(lat, z) === y

const columnOf = (lon: number, z: number): number => Math.floor(projectX(lon, z) / tilePx)
const rowOf = (lat: number, z: number): number =>
  Math.max(0, Math.min(2 ** z - 1, Math.floor(projectY(lat, z) / tilePx)))
