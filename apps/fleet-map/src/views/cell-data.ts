import { call } from '../api/client.ts'
import type { CoverageCell } from '../api/types.ts'
import { useResource } from '../components/resource.ts'
import { readOutline } from '../map/hexes.ts'
import { boundsOf } from '../map/surface.ts'
import { pastQuery, scopeQuery } from './fleet-data.ts'
import type { MapPlace } from './map-place.ts'

/** Reads all figures of the selected coverage cell, of which the tiles have only some. */
export function useCell(here: MapPlace): CoverageCell | undefined {
  const { filter, cellId } = here
  const { plmn, rat } = filter
  const query = { ...scopeQuery(filter), ...pastQuery(here), plmn, rat }
  const cell = useResource(
    JSON.stringify(['cell', cellId, query]),
    async (signal) => {
      if (!cellId) return undefined
      const outline = await readOutline(cellId)
      const bounds = boundsOf(outline.map(([lon = 0, lat = 0]) => ({ lat, lon: lon > 180 ? lon - 360 : lon })))
      const area = { bbox: bounds?.map((degrees) => degrees.toFixed(6)).join(','), h3Resolution: resolutionOf(cellId) }
      const { items } = await call<{ items: CoverageCell[] }>('/fleet/coverage', {
        signal,
        query: { ...query, ...area },
      })
      return items.find(({ h3 }) => h3 === cellId)
    },
    { everyMs: 60_000 },
  )
  return cell.value
}

/** Returns the resolution of an H3 cell, which its index has in the bits 52 to 55. */
const resolutionOf = (h3: string): number => Number.parseInt(h3.at(1) ?? '', 16)
