import { cellToBoundary, getHexagonEdgeLengthAvg, UNITS } from 'h3-js'
import { mapInSlices } from '#core/slices'
import { clipped } from '#fleet-map/tiles/clip'
import type { TileFeature } from '#fleet-map/tiles/tile-feature'
import { extent, type Tile, tileBox } from '#fleet-map/tiles/tile-math'
import { blockOf } from '#fleet-map/tiles/zoom-levels'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'
import { unwrapLine } from '#telemetry/geo/antimeridian'
import type { BoundingBox } from '#telemetry/geo/geo'
import { type WorldPoint, worldPoint } from '#telemetry/geo/mercator'

/** Polygons reach this far beyond the tile, so that their edges are not visible at its border. */
const bufferUnits = 64
// The longest edge of a cell is about 1.3 times the average.
const longestEdge = 1.4

/** A cell with its boundary on the map. */
type DrawnCell = { cell: DatedCoverageCell; ring: WorldPoint[]; minX: number; maxX: number; minY: number; maxY: number }

type Entries = readonly { item: DatedCoverageCell; isGone: boolean }[]

export type CoverageShapes = {
  /** The cells of a list that overlap a tile, clipped to the tile and its buffer. */
  features(entries: Entries, tile: Tile): Promise<TileFeature[]>
}

/** Where coverage cells of a tile can have their centre; undefined for everywhere. */
export function coverageBox(tile: Tile): BoundingBox | undefined {
  const block = blockOf(tile)
  return block && tileBox(block, longestEdge * getHexagonEdgeLengthAvg(resolutionForZoom(tile.z), UNITS.m))
}

/** Keeps the boundaries of the cells of a list as long as the list exists. */
export function createCoverageShapes(): CoverageShapes {
  const drawn = new WeakMap<Entries, Promise<DrawnCell[]>>()
  const draw = (entries: Entries): Promise<DrawnCell[]> => {
    const known = drawn.get(entries)
    if (known) return known
    const present = entries.filter(({ isGone }) => !isGone)
    const made = mapInSlices(present, ({ item }) => drawnCell(item))
    drawn.set(entries, made)
    return made
  }
  return {
    features: async (entries, tile) => (await draw(entries)).flatMap((cell) => cellFeature(cell, tile)),
  }
}

function drawnCell(cell: DatedCoverageCell): DrawnCell {
  // A cell over the antimeridian goes beyond the map at one side; `cellFeature` also draws it at the other side.
  const ring = unwrapLine(cellToBoundary(cell.h3, true)).map(([lon, lat]) => worldPoint(lat, lon))
  const [xs, ys] = [ring.map(([x]) => x), ring.map(([, y]) => y)]
  return { cell, ring, minX: Math.min(...xs), maxX: Math.max(...xs), minY: Math.min(...ys), maxY: Math.max(...ys) }
}

function cellFeature({ cell, ring, minX, maxX, minY, maxY }: DrawnCell, { z, x, y }: Tile): TileFeature[] {
  const perSide = 2 ** z
  if (minY * perSide >= y + 1 || maxY * perSide <= y) return []
  const turns = minX < 0 ? [0, 1] : maxX > 1 ? [0, -1] : [0]
  const rings = turns.flatMap((turn) => {
    if ((minX + turn) * perSide >= x + 1 || (maxX + turn) * perSide <= x) return []
    const inTile = ring.map(([worldX, worldY]): [number, number] => [
      ((worldX + turn) * perSide - x) * extent,
      (worldY * perSide - y) * extent,
    ])
    return clipped(inTile, 0, extent).length > 0 ? [rounded(clipped(inTile, -bufferUnits, extent + bufferUnits))] : []
  })
  const geometry = rings.filter((points) => points.length > 3)
  return geometry.length > 0 ? [{ type: 3, geometry, properties: cellProperties(cell) }] : []
}

const cellProperties = (cell: DatedCoverageCell) => ({
  h3: cell.h3,
  samples: cell.samples,
  devices: cell.devices,
  serviceRatio: cell.serviceRatio,
  rsrpP50Dbm: cell.rsrpDbm.p50,
  sinrP50Db: cell.sinrDb.p50,
  quality: cell.quality,
  confidence: cell.confidence,
})

/** A closed ring in whole units, clockwise on the screen, without repeated points. */
function rounded(ring: readonly (readonly [number, number])[]): [number, number][] {
  const points: [number, number][] = []
  for (const [x, y] of ring) {
    const point: [number, number] = [Math.round(x), Math.round(y)]
    const last = points.at(-1)
    if (!last || last[0] !== point[0] || last[1] !== point[1]) points.push(point)
  }
  const first = points[0]
  if (!first) return points
  if (doubleArea(points) < 0) points.reverse()
  const start = points[0] ?? first
  const end = points.at(-1) ?? first
  if (start[0] !== end[0] || start[1] !== end[1]) points.push([start[0], start[1]])
  return points
}

/** Twice the area; positive if the ring is clockwise on the screen, where y grows downwards. */
function doubleArea(points: readonly (readonly [number, number])[]): number {
  let sum = 0
  for (const [index, [x, y]] of points.entries()) {
    const [nextX, nextY] = points[(index + 1) % points.length] ?? [x, y]
    sum += x * nextY - nextX * y
  }
  return sum
}
