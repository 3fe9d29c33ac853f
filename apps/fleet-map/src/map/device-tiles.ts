import type { DrawnCluster } from './cluster-extent.ts'
import type { ClusterAnswer, DeviceTilesAnswer, DeviceTilesMessage } from './device-tiles.worker.ts'
import DeviceTilesWorker from './device-tiles.worker.ts?worker'
import type { Bounds } from './surface.ts'
import type { TileSource } from './tile-feed.ts'

const refreshMs = 5_000
const hiddenRefreshMs = 30_000

type Listeners = {
  onAnswer: (answer: DeviceTilesAnswer) => void
  /** Called with the box of the devices of a cluster, after `expand`. */
  onExtent: (extent: Bounds) => void
}

/** Reads the devices of a view from the service's tiles in a worker, and follows their changes. */
export function openDeviceTiles({ onAnswer, onExtent }: Listeners) {
  const worker = new DeviceTilesWorker()
  const send = (message: DeviceTilesMessage) => worker.postMessage(message)
  let url: string | null = null
  worker.addEventListener('message', ({ data }: MessageEvent<DeviceTilesAnswer | ClusterAnswer>) => {
    if (data.url !== url) return
    if ('extent' in data) onExtent(data.extent)
    else onAnswer(data)
  })
  const pace = () => send({ refreshMs: document.hidden ? hiddenRefreshMs : refreshMs })
  document.addEventListener('visibilitychange', pace)
  return {
    /** Follows other tiles; null follows none. What the earlier ones showed disappears at once. */
    follow: (source: TileSource | null) => {
      url = source?.url ?? null
      onAnswer({ url, devices: [], clusters: [] })
      send({ source })
    },
    look: (bounds: Bounds, zoom: number) => send({ view: { bounds, zoom } }),
    expand: (cluster: DrawnCluster) => send({ cluster }),
    close: () => {
      document.removeEventListener('visibilitychange', pace)
      worker.terminate()
    },
  }
}
