import type { FleetContext } from '#fleet/context'
import { type DeviceQuery, queriedGroup } from '#fleet-map/access'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import type { OperatorRanks } from '#fleet-map/coverage/operator-lists'
import { placeFilter } from '#fleet-map/places/filter'
import type { Revisions } from '#fleet-map/revisions'
import type { PastQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { type BoundingBox, contains, type Point } from '#telemetry/geo/geo'

type OperatorsQuery = DeviceQuery &
  PastQuery & {
    sinceMinutes: number
    /** At most one of these and `bbox`. */
    h3?: string | undefined
    placeId?: string | undefined
    rat?: string | undefined
  }

/** The operators of the caller's organizations in an area, best first. Throws 404, 403, and 400 for a wrong window. */
export async function listOperators(
  ctx: FleetContext,
  fleet: { operatorRanks: OperatorRanks; revisions: Revisions },
  reader: Reader,
  query: OperatorsQuery,
) {
  const scope = await openCoverage(ctx, query)
  const group = await queriedGroup(ctx, scope.found, query.groupId)
  const place = await placeFilter(ctx.pool, scope.found, query.placeId)
  const { tag: tags, rat, h3, bbox } = query
  const { organizations } = scope
  const area = place ?? (bbox && boxArea(bbox))
  const { madeMs, operators } = await fleet.operatorRanks.read(
    reader,
    { organizations, group, tags, rat },
    { h3, area },
  )
  return { ...answerTime(scope, fleet.revisions, madeMs), items: operators }
}

const boxArea = (bbox: BoundingBox) => ({
  key: bbox.join(),
  bounds: bbox,
  contains: ({ lat, lon }: Point) => contains(bbox, lat, lon),
})
