import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import Supercluster from 'supercluster'
import type { Quality } from '../api/schemas.ts'
import { boxAround } from './box-around.ts'
import { tilePx, unprojectX, unprojectY } from './mercator.ts'
import { qualities, qualityRank } from './palette.ts'
import type { Bounds, DeviceShape } from './surface.ts'
import type { TileId } from './tile-cover.ts'

/** What a tile shows at a point: a device, or several with the worst of their qualities. */
export type TileItem = {
  lon: number
  lat: number
  /** The box of the tile's features that the item consists of. */
  bounds: Bounds
  count: number
  quality: Quality | null
  /** How many devices have each quality class, worst first, then how many have none known. */
  byQuality: readonly number[]
  device: { deviceId: string; name: string; status: string; motion: DeviceShape; headingDeg: number } | null
}

/** From this zoom on, each device is drawn. */
const devicesFromZoom = 14
/** Fewer devices than this are drawn one by one. */
const minClusterSize = 4
const clusterRadiusPx = 46
/** Smaller, so that only the clusters at the border between two tiles are merged. */
const borderRadiusPx = 36

/**
 * Decodes the devices of a tile, and merges those that would overlap on the screen. Each tile is merged by itself, so that
 * the clusters stay where they are while the map moves.
 */
export function readDeviceTile(bytes: ArrayBuffer, tile: TileId): TileItem[] {
  const layer = new VectorTile(new PbfReader(new Uint8Array(bytes))).layers.devices
  if (!layer) return []
  const items = Array.from({ length: layer.length }, (_, index): TileItem => {
    const feature = layer.feature(index)
    const [point] = feature.loadGeometry()[0] ?? []
    const { count, worstQuality, quality, deviceId, name, status, motion, headingDeg } = feature.properties
    const lon = unprojectX((tile.x + ((point?.x ?? 0) + 0.5) / feature.extent) * tilePx, tile.z)
    const lat = unprojectY((tile.y + ((point?.y ?? 0) + 0.5) / feature.extent) * tilePx, tile.z)
    return {
      lon,
      lat,
      bounds: [lon, lat, lon, lat],
      count: Number(count ?? 1),
      quality: qualities.find((known) => known === (worstQuality ?? quality)) ?? null,
      byQuality: countsOf(feature.properties, deviceId !== undefined),
      device:
        deviceId === undefined
          ? null
          : {
              deviceId: String(deviceId),
              name: String(name ?? ''),
              status: String(status),
              motion: motionOf(motion),
              headingDeg: Number(headingDeg ?? 0),
            },
    }
  })
  return merged(items, tile.z, clusterRadiusPx)
}

/** Merges items of neighbouring tiles of a zoom that would overlap at their border. */
export const mergeBorders = (items: readonly TileItem[], zoom: number): TileItem[] =>
  merged(items, zoom, borderRadiusPx)

const motionOf = (motion: unknown): DeviceShape => (motion === 'moving' || motion === 'silent' ? motion : 'standing')

function countsOf(properties: Record<string, unknown>, isDevice: boolean): number[] {
  if (isDevice) return [...qualities, undefined].map((quality) => Number(properties.quality === quality))
  const known = qualities.map((quality) => Number(properties[`${quality}Count`] ?? 0))
  return [...known, Number(properties.count ?? 0) - known.reduce((sum, devices) => sum + devices, 0)]
}

type Merge = { item: number; bounds: Bounds; count: number; worst: number; byQuality: number[] }

function merged(items: readonly TileItem[], zoom: number, radius: number): TileItem[] {
  if (zoom >= devicesFromZoom) return [...items]
  const index = new Supercluster<Pick<Merge, 'item'>, Merge>({
    radius,
    extent: tilePx,
    minZoom: zoom,
    maxZoom: zoom,
    minPoints: 2,
    map: ({ item }) => ({
      item,
      bounds: items[item]?.bounds ?? [0, 0, 0, 0],
      count: items[item]?.count ?? 1,
      worst: qualityRank(items[item]?.quality ?? null),
      byQuality: [...(items[item]?.byQuality ?? [])],
    }),
    reduce: (into, one) => {
      into.bounds = boxAround(into.bounds, one.bounds)
      into.count += one.count
      into.worst = Math.min(into.worst, one.worst)
      into.byQuality = into.byQuality.map((devices, quality) => devices + (one.byQuality[quality] ?? 0))
    },
  })
  index.load(
    items.map(({ lon, lat }, item) => ({
      type: 'Feature',
      properties: { item },
      geometry: { type: 'Point', coordinates: [lon, lat] },
    })),
  )
  return index.getClusters([-180, -90, 180, 90], zoom).flatMap(({ properties, geometry: { coordinates } }) => {
    if (!('cluster' in properties)) return items[properties.item] ?? []
    const [lon = 0, lat = 0] = coordinates
    const { count, bounds, worst, byQuality } = properties
    if (count < minClusterSize) {
      const leaves = index
        .getLeaves(properties.cluster_id, Infinity)
        .flatMap((leaf) => items[leaf.properties.item] ?? [])
      // The tile has no devices of its own clusters, so these cannot be drawn one by one.
      if (leaves.every(({ device }) => device)) return leaves
    }
    return { lon, lat, bounds, count, quality: qualities[worst] ?? null, byQuality, device: null }
  })
}
