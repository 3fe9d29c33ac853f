import type { Feature, Polygon } from 'geojson'
import { cellToBoundary } from 'h3-js'

/** Cells to draw: coloured by class, hatched where there is no service, faint where there are few samples. */
export type HexLoad = { sequence: number; cells: { h3: string; color: string; hatched: boolean; faint: boolean }[] }
export type HexAnswer = {
  sequence: number
  features: Feature<Polygon, { h3: string; color: string; hatched: boolean; faint: boolean }>[]
}

// The boundary of a cell never changes, but is needed at every refresh and change of the metric.
const boundaries = new Map<string, [number, number][]>()

function boundary(h3: string): [number, number][] {
  let ring = boundaries.get(h3)
  if (!ring) {
    ring = cellToBoundary(h3, true)
    const west = Math.min(...ring.map(([lon]) => lon))
    // A cell across the date line is drawn beyond 180°.
    if (ring.some(([lon]) => lon - west > 180)) ring = ring.map(([lon, lat]) => [lon < 0 ? lon + 360 : lon, lat])
    if (boundaries.size > 200_000) boundaries.clear()
    boundaries.set(h3, ring)
  }
  return ring
}

addEventListener('message', (event: MessageEvent<HexLoad>) => {
  const { sequence, cells } = event.data
  const features = cells.map((properties): HexAnswer['features'][number] => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Polygon', coordinates: [boundary(properties.h3)] },
  }))
  postMessage({ sequence, features } satisfies HexAnswer)
})
