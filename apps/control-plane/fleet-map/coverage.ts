import type { FleetContext } from '#fleet/context'
import { groupMembers, mappedOrganizations } from '#fleet/fleet-map/access'
import { databaseNowMs } from '#fleet/fleet-map/registry'
import { momentToken } from '#fleet/fleet-map/revisions'
import { resolutionForZoom } from '#questdb/coverage-resolution'
import type { Reader } from '#questdb/readers'
import { clockAheadMs } from '../telemetry/window.ts'
import type { FleetMaps } from './fleet-maps.ts'
import type { CoverageQuery } from './query.ts'
import { thresholds } from './thresholds.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

/** The coverage of the caller's organizations, all that is known of each cell. Throws 404 and 403. */
export async function readCoverage(ctx: FleetContext, fleet: FleetMaps, reader: Reader, query: CoverageQuery) {
  const found = await mappedOrganizations(ctx, query.orgId, ['fleetGps', 'coverage'])
  const members = query.groupId === undefined ? undefined : await groupMembers(ctx, found, query.groupId)
  const askedMs = query.sinceMinutes * minuteMs
  const organizations = found.map(({ organizationId, historyDays }) => ({
    organizationId,
    windowMs: Math.min(askedMs, historyDays * dayMs),
  }))
  const { bbox, groupId, tag, rat, plmn, zoom } = query
  const h3Resolution = query.h3Resolution ?? (zoom === undefined ? undefined : resolutionForZoom(zoom))
  const list = await fleet.coverage.read(
    { owner: reader.owner, organizations, h3Resolution, bbox, groupId, members, tags: tag, rat, plmn },
    reader.signal,
  )
  const nowMs = ctx.clock()
  const timeMs = await databaseNowMs(ctx.pool)
  const longestMs = Math.max(0, ...organizations.map(({ windowMs }) => windowMs))
  return {
    asOf: momentToken({ epoch: fleet.revisions.epoch, revision: fleet.revisions.current(), timeMs }),
    window: {
      from: new Date(nowMs - longestMs).toISOString(),
      to: new Date(nowMs + clockAheadMs).toISOString(),
      limitedBy: organizations.some(({ windowMs }) => windowMs < askedMs) ? ('plan' as const) : null,
    },
    h3Resolution: list.facts.h3Resolution,
    items: list.entries.filter(({ isGone }) => !isGone).map(({ item }) => item),
    thresholds,
  }
}
