import { boxAround } from './box-around.ts'
import type { TileItem } from './device-tile.ts'
import { projectX, projectY, unprojectX, unprojectY } from './mercator.ts'
import { type Bounds, unwrapBounds } from './surface.ts'
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
    const [west, , east] = area
    // Tiles beyond the antimeridian are at the other end of the world.
    const boxes = (await Promise.all(tilesCovering(area, finer).map(read)))
      .flat()
      .map((item) => unwrapBounds(item.bounds, (west + east) / 2))
    const [first, ...others] = boxes.filter((box) => isIn(area, box))
    if (!first) break
    const bounds = others.reduce(boxAround, first)
    if (hasExtent(bounds)) return widened(bounds, finer, cellPx / 4)
    area = widened(bounds, finer, cellPx)
  }
  return area
}

const hasExtent = ([west, south, east, north]: Bounds): boolean => west < east || south < north

/** Whether the middle of a box is in an area. */
function isIn([west, south, east, north]: Bounds, box: Bounds): boolean {
  const [lon, lat] = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
  return lon >= west && lon <= east && lat >= south && lat <= north
}

/** A box with a margin in pixels of a zoom. */
function widened([west, south, east, north]: Bounds, zoom: number, marginPx: number): Bounds {
  return [
    unprojectX(projectX(west, zoom) - marginPx, zoom),
    unprojectY(projectY(south, zoom) + marginPx, zoom),
    unprojectX(projectX(east, zoom) + marginPx, zoom),
    unprojectY(projectY(north, zoom) - marginPx, zoom),
  ]
}
