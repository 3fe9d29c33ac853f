import { dwellView } from '#fleet-map/dwells/dwell-view'
import type { TileFeature } from '#fleet-map/tiles/tile-feature'
import { pointInTile, type Tile, tileBox, tileOf } from '#fleet-map/tiles/tile-math'
import { blockOf } from '#fleet-map/tiles/zoom-levels'
import type { StoredDwellRow } from '#questdb/fleet/dwells'
import type { BoundingBox } from '#telemetry/geo/geo'
import { worldPoint } from '#telemetry/geo/mercator'

/** A tile contains at most this many dwells, those with the longest duration. */
const maxTileDwells = 2_000

const marginM = 1

/** Where the dwells of a tile can be; undefined for everywhere. */
export function dwellBox(tile: Tile): BoundingBox | undefined {
  const block = blockOf(tile)
  return block && tileBox(block, marginM)
}

/** The dwells of a tile, at most 2,000. */
export function dwellsIn(rows: Iterable<StoredDwellRow>, tile: Tile, nowMs: number): StoredDwellRow[] {
  const found: StoredDwellRow[] = []
  for (const row of rows) {
    const { x, y } = tileOf(worldPoint(row.lat, row.lon), tile.z)
    if (x === tile.x && y === tile.y) found.push(row)
  }
  if (found.length <= maxTileDwells) return found
  const durationMs = ({ arrivedAtMs, departedAtMs }: StoredDwellRow) => (departedAtMs ?? nowMs) - arrivedAtMs
  return found.sort((a, b) => durationMs(b) - durationMs(a)).slice(0, maxTileDwells)
}

export function dwellFeature(row: StoredDwellRow, tile: Tile, nowMs: number): TileFeature {
  const { id, deviceId, arrivedAt, durationS, radiusM } = dwellView(row, null, nowMs)
  const ongoing = row.departedAtMs === null
  return {
    type: 1,
    geometry: [pointInTile(worldPoint(row.lat, row.lon), tile)],
    properties: { id, deviceId, arrivedAt, ...(ongoing ? {} : { durationS }), radiusM, ongoing },
    ...(ongoing && { ages: { durationS } }),
  }
}
