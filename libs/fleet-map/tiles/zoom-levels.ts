import { ancestorOf, type Tile } from '#fleet-map/tiles/tile-math'
import { coarsestResolution, resolutionForZoom } from '#questdb/votes/coverage-resolution'

/** From this zoom on, every device is a point. */
export const pointsFromZoom = 13

/** Below zoom 4, fleets in more cells than this are combined in coarser cells, so that a tile stays small. */
export const maxWorldCells = 5_000

const bucketZooms = new Map(
  Array.from({ length: pointsFromZoom }, (_, zoom): [resolution: number, zoom: number] => [
    resolutionForZoom(zoom),
    zoom,
  ]),
)
const coarseBucketZoom = 3

/** The highest zoom at which cells of a resolution are clusters. */
export const bucketZoomOf = (resolution: number): number => bucketZooms.get(resolution) ?? coarseBucketZoom

/** The resolutions that suit clusters at this zoom, the preferred one first. */
export function clusterResolutions(zoom: number): number[] {
  const finest = resolutionForZoom(zoom)
  if (zoom > coarseBucketZoom) return [finest]
  return Array.from({ length: coarsestResolution + 1 }, (_, index) => finest - index)
}

/**
 * The tile whose coverage and dwells are read for a tile, so that neighbouring tiles share one list; undefined at low zooms,
 * where all tiles share one. A block has at most about 50,000 cells of the zoom's resolution.
 */
export function blockOf(tile: Tile): Tile | undefined {
  const { z } = tile
  if (z <= 4) return undefined
  return ancestorOf(tile, z <= 7 ? 5 : z <= 11 ? 8 : z <= 13 ? 10 : 12)
}
