import type { ShownDevice } from '#fleet-map/selection/filter'
import { meanLongitude } from '#telemetry/geo/antimeridian'
import { maxMercatorLat, worldPoint } from '#telemetry/geo/mercator'

export type Cluster = {
  /** Mean position of its devices. */
  lat: number
  lon: number
  devices: number
  byStatus: Record<string, number>
  byQuality: Record<string, number>
}

/** Devices closer than this on the screen are one cluster. */
const cellPixels = 64
const tilePixels = 256

/**
 * Combines devices that overlap on a map with this zoom, in squares of 64 Web Mercator pixels. A device without a
 * position, or without another device in its square, is not combined.
 */
export function clusterDevices(
  devices: readonly ShownDevice[],
  zoom: number,
): { clusters: Cluster[]; singles: ShownDevice[] } {
  const squares = new Map<string, ShownDevice[]>()
  const singles: ShownDevice[] = []
  const perSide = (tilePixels / cellPixels) * 2 ** zoom
  for (const shown of devices) {
    if (!shown.location) {
      singles.push(shown)
      continue
    }
    const { lat, lon } = shown.location
    const [x, y] = worldPoint(Math.max(-maxMercatorLat, Math.min(maxMercatorLat, lat)), lon)
    // −180 and 180 are one meridian.
    const key = `${Math.floor((x % 1) * perSide)}/${Math.floor(y * perSide)}`
    const square = squares.get(key)
    if (square) square.push(shown)
    else squares.set(key, [shown])
  }
  const clusters: Cluster[] = []
  for (const square of squares.values()) {
    if (square.length === 1) singles.push(...square)
    else clusters.push(clusterOf(square))
  }
  return { clusters, singles }
}

function clusterOf(members: readonly ShownDevice[]): Cluster {
  const lon = meanLongitude(members.map(({ location }) => location?.lon ?? 0))
  const cluster: Cluster = { lat: 0, lon, devices: members.length, byStatus: {}, byQuality: {} }
  for (const { device, location, signal } of members) {
    cluster.lat += (location?.lat ?? 0) / members.length
    count(cluster.byStatus, device.entry.status)
    count(cluster.byQuality, signal?.quality ?? 'unknown')
  }
  return cluster
}

const count = (counts: Record<string, number>, word: string) => {
  counts[word] = (counts[word] ?? 0) + 1
}
