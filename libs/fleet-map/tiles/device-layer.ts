import type { MapDeviceState } from '#fleet-map/live/device-state'
import { shownSignal } from '#fleet-map/selection/filter'
import type { CellLevel } from '#fleet-map/tiles/cell-level'
import type { CellCounts } from '#fleet-map/tiles/cell-sums'
import type { DeviceIndex } from '#fleet-map/tiles/device-index'
import { qualityNamed } from '#fleet-map/tiles/device-table'
import { worldOf } from '#fleet-map/tiles/level'
import type { TileFeature } from '#fleet-map/tiles/tile-feature'
import { descendantsOf, pointInTile, type Tile, tileOf } from '#fleet-map/tiles/tile-math'
import { bucketZoomOf, clusterResolutions, maxWorldCells, pointsFromZoom } from '#fleet-map/tiles/zoom-levels'
import { worldPoint } from '#telemetry/geo/mercator'

/** The devices of a tile: each one from zoom 13 on, below that one feature for each cell. */
export async function deviceFeatures(index: DeviceIndex, tile: Tile, nowMs: number): Promise<TileFeature[]> {
  if (tile.z >= pointsFromZoom) return pointFeatures(index, tile, nowMs)
  const { level, resolution } = await clusterLevel(index, tile.z, nowMs)
  const features: TileFeature[] = []
  const add = (cell: CellCounts): void => {
    const feature =
      cell.count === 1
        ? deviceFeature(index, cell.row, tile, nowMs)
        : clusterFeature(cell, pointInTile(worldPoint(cell.lat, cell.lon), tile))
    if (feature) features.push(feature)
  }
  for (const part of descendantsOf(tile, bucketZoomOf(resolution))) level.forEachCell(part, add)
  return features
}

async function clusterLevel(
  index: DeviceIndex,
  zoom: number,
  nowMs: number,
): Promise<{ level: CellLevel; resolution: number }> {
  const resolutions = clusterResolutions(zoom)
  for (const resolution of resolutions) {
    const level = await index.cells(resolution, nowMs)
    if (level.cells() <= maxWorldCells || resolution === resolutions.at(-1)) return { level, resolution }
  }
  throw new Error(`No cluster resolution for zoom ${zoom}.`)
}

async function pointFeatures(index: DeviceIndex, tile: Tile, nowMs: number): Promise<TileFeature[]> {
  const level = await index.points(nowMs)
  const features: TileFeature[] = []
  const bucketSpan = 2 ** (tile.z - pointsFromZoom)
  const bucket = { z: pointsFromZoom, x: Math.floor(tile.x / bucketSpan), y: Math.floor(tile.y / bucketSpan) }
  level.forEachRow(bucket, (row) => {
    const placed = index.device(row)
    if (!placed) return
    const { x, y } = tileOf(worldOf(placed), tile.z)
    const feature = x === tile.x && y === tile.y ? deviceFeature(index, row, tile, nowMs) : undefined
    if (feature) features.push(feature)
  })
  return features
}

function deviceFeature(index: DeviceIndex, row: number, tile: Tile, nowMs: number): TileFeature | undefined {
  const placed = index.device(row)
  const { map, ordinal } = index.deviceOf(row)
  const indexed = index.maps[map]
  const device = indexed?.map.deviceAt(ordinal)
  const location = device?.location
  if (!placed || !indexed || !location) return undefined
  const { entry } = device
  const signal = shownSignal(device, nowMs - indexed.windowMs)
  return {
    type: 1,
    geometry: [pointInTile(worldOf(placed), tile)],
    properties: {
      deviceId: entry.deviceId,
      name: entry.name,
      status: entry.status,
      quality: signal?.quality,
      rsrpDbm: signal?.rsrpDbm,
      modem: signal?.modem,
      headingDeg: location.headingDeg,
      speedMps: location.speedMps,
      motion: motionOf(device, location.speedMps, nowMs),
    },
    ages: { ageS: Math.max(0, Math.round((nowMs - location.tsMs) / 1_000)) },
  }
}

const silentAfterMs = 15 * 60_000
const movingFromMps = 1.5

/** `silent`: offline, disabled, or neither a position nor a signal for 15 minutes. A device in a dwell is `standing`. */
function motionOf(device: MapDeviceState, speedMps: number | null, nowMs: number): 'moving' | 'standing' | 'silent' {
  const { entry, locatedAtMs, measuredAtMs } = device
  const newestMs = Math.max(locatedAtMs ?? 0, measuredAtMs ?? 0)
  const isOff = entry.status === 'offline' || entry.status === 'disabled'
  if (isOff || nowMs - newestMs > silentAfterMs) return 'silent'
  return device.dwell || (speedMps ?? 0) < movingFromMps ? 'standing' : 'moving'
}

/** The name of the property with the number of devices of a quality class: `noneCount` to `excellentCount`. */
const qualityCount = (quality: number): string => `${qualityNamed(quality)}Count`

const clusterFeature = (
  { count, online, offline, worstQuality, byQuality }: CellCounts,
  point: [x: number, y: number],
): TileFeature => ({
  type: 1,
  geometry: [point],
  properties: {
    ...{ count, online, offline, worstQuality: qualityNamed(worstQuality) },
    // A class without devices has no property, which keeps tiles small.
    ...Object.fromEntries(
      byQuality.flatMap((devices, quality) => (devices > 0 ? [[qualityCount(quality), devices]] : [])),
    ),
  },
})
