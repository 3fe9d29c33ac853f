import { cellsToMultiPolygon, cellToBoundary, getResolution, isValidCell } from 'h3-js'
import { readCoverage } from '#fleet-map/coverage/coverage'
import { listDeadZones } from '#fleet-map/coverage/dead-zones'
import {
  type FeaturePage,
  type FeatureRequest,
  type FeatureSources,
  flat,
  listText,
  noFeatures,
  townProperties,
} from '#fleet-map/features/feature-page'
import { countedWindow } from '#fleet-map/features/feature-times'
import { cellFeature } from '#fleet-map/gps/formats'
import { lazily } from '#http/json-chunks'
import { cellCentre } from '#questdb/votes/coverage-areas'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'
import { polygonGeometry } from '#telemetry/geo/antimeridian'
import type { BoundingBox } from '#telemetry/geo/geo'

/** The end of a page. The next one has the same resolution. */
type Position = { h3: string; h3Resolution: number }

/** A page of coverage cells as hexagons, sorted by their index. */
export async function coverageFeatures(sources: FeatureSources, request: FeatureRequest): Promise<FeaturePage> {
  const { ctx, fleet, reader } = sources
  const { orgId, limit, times, nowMs, after, id } = request
  const position = after === undefined ? undefined : (JSON.parse(after) as Position)
  if (id !== undefined && !isCoverageCell(id)) return noFeatures
  const query = {
    ...{ orgId, ...countedWindow(times, nowMs) },
    ...(id === undefined
      ? { bbox: request.bbox, h3Resolution: position?.h3Resolution }
      : { bbox: centreOf(id), h3Resolution: getResolution(id) }),
  }
  const { body } = await readCoverage(ctx, fleet, reader, query)
  const { items, h3Resolution } = await body()
  const left = items.filter(({ h3 }) => !position || h3 > position.h3).sort((a, b) => (a.h3 < b.h3 ? -1 : 1))
  const page = left.slice(0, limit)
  const last = page.at(-1)
  const next: Position | null = last && left.length > page.length ? { h3: last.h3, h3Resolution } : null
  return {
    features: lazily(page, coverageFeature),
    count: page.length,
    nextAfter: next && JSON.stringify(next),
    numberMatched: items.length,
  }
}

const isCoverageCell = (id: string): boolean => isValidCell(id) && getResolution(id) >= 4 && getResolution(id) <= 10

/** The box around the centre of a cell alone. */
function centreOf(h3: string): BoundingBox {
  const [lat, lon] = cellCentre(h3)
  return [lon, lat, lon, lat]
}

/** A coverage cell as its hexagon. */
export const coverageFeature = ({ byRat: _byRat, byPlmn: _byPlmn, ...cell }: DatedCoverageCell) => ({
  ...{ id: cell.h3, ...cellFeature(cell.h3, flat(cell)) },
})

/** A page of dead zones, longest time without service first. */
export async function deadZoneFeatures(sources: FeatureSources, request: FeatureRequest): Promise<FeaturePage> {
  const { ctx, fleet, reader } = sources
  const { orgId, bbox, limit, times, nowMs, after, id: zoneId } = request
  const query = { orgId, bbox, limit, zoneId, ...countedWindow(times, nowMs) }
  const { items, nextAfter } = await listDeadZones(ctx, fleet, reader, query, after)
  const features = lazily(items, ({ id, bbox: box, near, cells, ...zone }) => ({
    type: 'Feature' as const,
    id,
    geometry: zoneGeometry(cells, box),
    properties: { feature: 'deadZone', zoneId: id, ...zone, cells: listText(cells), ...townProperties(near) },
  }))
  return { features, count: items.length, nextAfter }
}

/** The outline of the cells; across the antimeridian, the cells themselves. */
function zoneGeometry(cells: readonly string[], [west, , east]: BoundingBox) {
  if (west <= east) return { type: 'MultiPolygon', coordinates: cellsToMultiPolygon([...cells], true) }
  const coordinates = cells.flatMap((h3) => {
    const geometry = polygonGeometry(cellToBoundary(h3, true))
    return geometry.type === 'MultiPolygon' ? geometry.coordinates : [geometry.coordinates]
  })
  return { type: 'MultiPolygon', coordinates }
}
