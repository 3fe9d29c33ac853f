import type { HexAnswer } from './hexes.worker.ts'
import HexWorker from './hexes.worker.ts?worker'
import { colorOf } from './palette.ts'
import type { ShadedCell } from './surface.ts'

/** Converts cells to polygons in a worker. Delivers the result of the newest request only. */
export function openHexes(onFeatures: (features: HexAnswer['features']) => void) {
  const worker = new HexWorker()
  let newest = 0
  worker.addEventListener('message', (event: MessageEvent<HexAnswer>) => {
    if (event.data.sequence === newest) onFeatures(event.data.features)
  })
  return {
    load(cells: readonly ShadedCell[]): void {
      newest += 1
      worker.postMessage({
        sequence: newest,
        cells: cells.map(({ cell, quality, noService }) => ({
          h3: cell.h3,
          color: colorOf(quality),
          hatched: noService,
          faint: cell.confidence === 'low',
        })),
      })
    },
    /** Converts cells without a metric, to be drawn as outlines. */
    outline(cells: readonly string[]): void {
      newest += 1
      const look = { color: colorOf(null), hatched: false, faint: false }
      worker.postMessage({ sequence: newest, cells: cells.map((h3) => ({ h3, ...look })) })
    },
    close: () => worker.terminate(),
  }
}
