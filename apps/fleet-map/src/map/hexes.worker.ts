import type { Feature, Polygon, Position } from 'geojson'
import { cellToBoundary } from 'h3-js'
import { unwrapRing } from '#telemetry/geo/antimeridian'

/** Cells whose outlines are wanted. */
export type HexLoad = { sequence: number; cells: readonly string[] }
export type HexAnswer = { sequence: number; features: Feature<Polygon>[] }

// The boundary of a cell never changes, but is needed at every refresh.
const boundaries = new Map<string, Position[]>()

function boundary(h3: string): Position[] {
  let ring = boundaries.get(h3)
  if (!ring) {
    ring = unwrapRing(cellToBoundary(h3, true))
    if (boundaries.size > 200_000) boundaries.clear()
    boundaries.set(h3, ring)
  }
  return ring
}

addEventListener('message', (event: MessageEvent<HexLoad>) => {
  const { sequence, cells } = event.data
  const features = cells.map(
    (h3): Feature<Polygon> => ({
      type: 'Feature',
      properties: {},
      geometry: { type: 'Polygon', coordinates: [boundary(h3)] },
    }),
  )
  postMessage({ sequence, features } satisfies HexAnswer)
})
