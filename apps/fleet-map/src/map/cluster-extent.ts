import { boxAround } from './box-around.ts'
import type { TileItem } from './device-tile.ts'
import { projectX, projectY, unprojectX, unprojectY } from './mercator.ts'
import type { Bounds } from './surface.ts'
import { maxTileZoom, type TileId, tilesCovering } from './tile-cover.ts'

export type DrawnCluster = { lon: number; lat: number; bounds: Bounds }

/** The widest cell of the service's clusters on the screen, at its own zoom: 28 px, and a little more for rounding. */
const cellPx = 32
const zoomStep = 2

/**
 * Returns the box of the devices of a cluster, which is what a map must show to split it. A cluster that is a single cell of
 * its tile has no extent there, so `read` is asked for the finer tiles around it until its devices are apart.
 */
export async function clusterExtent(
  read: (tile: TileId) => Promise<readonly TileItem[]>,
  cluster: DrawnCluster,
  zoom: number,
): Promise<Bounds> {
  if (hasExtent(cluster.bounds)) return widened(cluster.bounds, zoom, cellPx / 4)
  let area = widened([cluster.lon, cluster.lat, cluster.lon, cluster.lat], zoom, cellPx)
  for (let finer = Math.floor(zoom) + zoomStep; finer <= maxTileZoom; finer += zoomStep) {
    const items = (await Promise.all(tilesCovering(area, finer).map(read))).flat().filter((item) => isIn(area, item))
    const [first, ...others] = items.map((item) => item.bounds)
    if (!first) break
    const bounds = others.reduce(boxAround, first)
    if (hasExtent(bounds)) return widened(bounds, finer, cellPx / 4)
    area = widened(bounds, finer, cellPx)
  }
  return area
}

const hasExtent = ([west, south, east, north]: Bounds): boolean => west < east || south < north

const isIn = ([west, south, east, north]: Bounds, { lon, lat }: TileItem): boolean =>
  lon >= west && lon <= east && lat >= south && lat <= north

/** A box with a margin in pixels of a zoom. */
function widened([west, south, east, north]: Bounds, zoom: number, marginPx: number): Bounds {
  return [
    unprojectX(projectX(west, zoom) - marginPx, zoom),
    unprojectY(projectY(south, zoom) + marginPx, zoom),
    unprojectX(projectX(east, zoom) + marginPx, zoom),
    unprojectY(projectY(north, zoom) - marginPx, zoom),
  ]
}
