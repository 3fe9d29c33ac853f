import type { FleetContext } from '#fleet/context'
import { type DeviceQuery, queriedGroup } from '#fleet-map/access'
import type { CoverageLists } from '#fleet-map/coverage/coverage-lists'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import { thresholds } from '#fleet-map/coverage/thresholds'
import type { Revisions } from '#fleet-map/revisions'
import type { PastQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'

export type CoverageQuery = DeviceQuery &
  PastQuery & {
    sinceMinutes: number
    /** Zoom of the map. It sets the resolution unless `h3Resolution` does. */
    zoom?: number | undefined
    h3Resolution?: number | undefined
    rat?: string | undefined
    plmn?: string | undefined
  }

/**
 * The coverage of the caller's organizations, all that is known of each cell. The body is that of every other read of `key`:
 * its times are those of the list. Throws 404 and 403.
 */
export async function readCoverage(
  ctx: FleetContext,
  fleet: { coverage: CoverageLists; revisions: Revisions },
  reader: Reader,
  query: CoverageQuery,
) {
  const scope = await openCoverage(ctx, query)
  const group = await queriedGroup(ctx, scope.found, query.groupId)
  const { bbox, tag, rat, plmn, zoom } = query
  const { organizations } = scope
  const h3Resolution = query.h3Resolution ?? (zoom === undefined ? undefined : resolutionForZoom(zoom))
  const list = await fleet.coverage.read(
    { reader, organizations, h3Resolution, bbox, group, tags: tag, rat, plmn },
    reader.signal,
  )
  const { h3Resolution: resolution, madeMs, asOfMs } = list.facts
  return {
    key: `${list.number} ${scope.limitedBy}`,
    body: async () => ({
      ...answerTime(scope, fleet.revisions, madeMs, asOfMs),
      h3Resolution: resolution,
      items: list.entries.filter(({ isGone }) => !isGone).map(({ item }) => item),
      thresholds,
    }),
  }
}
