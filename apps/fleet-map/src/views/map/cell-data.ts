import { normalizeLongitude } from '#telemetry/geo/geo'
import { get } from '../../api/client.ts'
import type { CoverageCell } from '../../api/schemas.ts'
import { useResource } from '../../components/resource.ts'
import { readOutline } from '../../map/hexes.ts'
import { boundsOf } from '../../map/surface.ts'
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
      const bounds = boundsOf(await readOutline(cellId)) ?? [0, 0, 0, 0]
      const box = bounds.map((degrees) => normalizeLongitude(degrees).toFixed(6))
      const area = { bbox: box.join(','), h3Resolution: resolutionOf(cellId) }
      const { items } = await get('/fleet/coverage', {
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
