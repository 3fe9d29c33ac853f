import type { Position } from 'geojson'
import type { HexAnswer, HexLoad } from './hexes.worker.ts'
import HexWorker from './hexes.worker.ts?worker'
import { colorOf } from './palette.ts'
import type { ShadedCell } from './surface.ts'

/** Returns the outline of a cell as [longitude, latitude]. */
export const readOutline = (h3: string): Promise<Position[]> =>
  new Promise((resolve) => {
    const hexes = openHexes(([cell]) => {
      hexes.close()
      resolve(cell?.geometry.coordinates[0] ?? [])
    })
    hexes.outline([h3])
  })

/** Converts cells to polygons in a worker that starts with the first cells. Delivers the result of the newest request only. */
export function openHexes(onFeatures: (features: HexAnswer['features']) => void) {
  let worker: Worker | undefined
  let newest = 0
  const convert = (cells: HexLoad['cells']) => {
    newest += 1
    if (cells.length === 0) {
      onFeatures([])
      return
    }
    worker ??= openWorker()
    worker.postMessage({ sequence: newest, cells } satisfies HexLoad)
  }
  // The worker contains all of H3, and most readers need no outlines.
  const openWorker = () => {
    const opened = new HexWorker()
    opened.addEventListener('message', (event: MessageEvent<HexAnswer>) => {
      if (event.data.sequence === newest) onFeatures(event.data.features)
    })
    return opened
  }
  return {
    load(cells: readonly ShadedCell[]): void {
      convert(
        cells.map(({ cell, quality, noService }) => ({
          h3: cell.h3,
          color: colorOf(quality),
          hatched: noService,
          faint: cell.confidence === 'low',
        })),
      )
    },
    /** Converts cells without a metric, to be drawn as outlines. */
    outline(cells: readonly string[]): void {
      const look = { color: colorOf(null), hatched: false, faint: false }
      convert(cells.map((h3) => ({ h3, ...look })))
    },
    close: () => worker?.terminate(),
  }
}
