import type { LonLat } from '../route/geometry.ts'
import type { HexAnswer, HexLoad } from './hexes.worker.ts'
import HexWorker from './hexes.worker.ts?worker'

/** Returns the outline of a cell as [longitude, latitude]. */
export const readOutline = (h3: string): Promise<LonLat[]> =>
  new Promise((resolve) => {
    const hexes = openHexes(([cell]) => {
      hexes.close()
      resolve((cell?.geometry.coordinates[0] ?? []).map(([lon = 0, lat = 0]) => [lon, lat]))
    })
    hexes.outline([h3])
  })

/** Converts cells to polygons in a worker that starts with the first cells. Delivers the result of the newest request only. */
export function openHexes(onFeatures: (features: HexAnswer['features']) => void) {
  let worker: Worker | undefined
  let newest = 0
  // The worker contains all of H3, and most readers need no outlines.
  const openWorker = () => {
    const opened = new HexWorker()
    opened.addEventListener('message', (event: MessageEvent<HexAnswer>) => {
      if (event.data.sequence === newest) onFeatures(event.data.features)
    })
    return opened
  }
  return {
    outline(cells: readonly string[]): void {
      newest += 1
      if (cells.length === 0) {
        onFeatures([])
        return
      }
      worker ??= openWorker()
      worker.postMessage({ sequence: newest, cells } satisfies HexLoad)
    },
    close: () => worker?.terminate(),
  }
}
