import type { Feature, Point } from 'geojson'
import type { DrawnCluster } from './cluster-extent.ts'
import type { TileItem } from './device-tile.ts'
import { iconName } from './icons.ts'
import { ringName } from './ring.ts'
import type { Bounds } from './surface.ts'
import { checkPauseMs, openTileFeed, type TileSource } from './tile-feed.ts'

export type DeviceTilesMessage =
  | { source: TileSource | null }
  | { view: { bounds: Bounds; zoom: number } }
  | { refreshMs: number }
  | { cluster: DrawnCluster }

/** What the tiles of an address show: devices, and clusters of several devices. */
export type DeviceTilesAnswer = { url: string | null; devices: Feature<Point>[]; clusters: Feature<Point>[] }

/** The box of the devices of the cluster that was asked for. */
export type ClusterAnswer = { url: string | null; extent: Bounds }

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
let refreshMs = 5_000
let url: string | null = null

const feed = openTileFeed({
  pauseMs: (tiles) => checkPauseMs(refreshMs, tiles),
  onItems: (items) => {
    const devices = items.flatMap(deviceFeature)
    const clusters = items.flatMap(clusterFeature)
    postMessage({ url, devices, clusters } satisfies DeviceTilesAnswer)
  },
})

addEventListener('message', ({ data }: MessageEvent<DeviceTilesMessage>) => {
  if ('source' in data) {
    url = data.source?.url ?? null
    feed.follow(data.source)
  } else if ('view' in data) feed.look(data.view.bounds, data.view.zoom)
  else if ('cluster' in data) void answerExtent(data.cluster)
  else refreshMs = data.refreshMs
})

async function answerExtent(cluster: DrawnCluster): Promise<void> {
  // Without an answer the map stays. The page shows elsewhere that the service is unreachable.
  const extent = await feed.extentOf(cluster).catch(() => undefined)
  if (extent) postMessage({ url, extent } satisfies ClusterAnswer)
}

function deviceFeature({ lon, lat, device, quality }: TileItem): Feature<Point>[] {
  if (!device) return []
  const { deviceId, name, status, motion, headingDeg } = device
  const properties = {
    ...{ id: deviceId, name, quality },
    icon: iconName(motion, quality),
    heading: motion === 'moving' ? headingDeg : 0,
    faded: motion === 'silent',
    status,
    selected: false,
  }
  return [{ type: 'Feature', properties, geometry: { type: 'Point', coordinates: [lon, lat] } }]
}

function clusterFeature({ lon, lat, bounds, device, byQuality, count }: TileItem): Feature<Point>[] {
  if (device) return []
  const [west, south, east, north] = bounds
  const properties = { count, label: compact.format(count), ring: ringName(byQuality), west, south, east, north }
  return [{ type: 'Feature', properties, geometry: { type: 'Point', coordinates: [lon, lat] } }]
}
