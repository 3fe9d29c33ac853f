import type { FleetContext } from '#fleet/context'
import { queriedGroup } from '#fleet-map/access'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import type { FleetMaps } from '#fleet-map/fleet-maps'
import type { CoverageQuery } from '#fleet-map/queries'
import { databaseNowMs } from '#fleet-map/registry'
import { thresholds } from '#fleet-map/thresholds'
import type { Reader } from '#questdb/copies/readers'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'

/** The coverage of the caller's organizations, all that is known of each cell. Throws 404 and 403. */
export async function readCoverage(ctx: FleetContext, fleet: FleetMaps, reader: Reader, query: CoverageQuery) {
  const scope = await openCoverage(ctx, query)
  const group = await queriedGroup(ctx, scope.found, query.groupId)
  const { bbox, tag, rat, plmn, zoom } = query
  const { organizations } = scope
  const h3Resolution = query.h3Resolution ?? (zoom === undefined ? undefined : resolutionForZoom(zoom))
  const list = await fleet.coverage.read(
    { reader, organizations, h3Resolution, bbox, group, tags: tag, rat, plmn },
    reader.signal,
  )
  return {
    ...answerTime(scope, fleet.revisions, ctx.clock(), await databaseNowMs(ctx.pool)),
    h3Resolution: list.facts.h3Resolution,
    items: list.entries.filter(({ isGone }) => !isGone).map(({ item }) => item),
    thresholds,
  }
}
