import type { Towns } from '#core/near'
import type { FleetContext } from '#fleet/context'
import { type DeviceQuery, queriedGroup } from '#fleet-map/access'
import { answerTime, openCoverage } from '#fleet-map/coverage/coverage-scope'
import type { DeadZoneLists, ZoneDetails } from '#fleet-map/coverage/dead-zone-lists'
import type { Revisions } from '#fleet-map/revisions'
import type { PastQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import { type DeadZone, deadZoneResolution, worstFirst } from '#telemetry/coverage/dead-zones'
import { contains } from '#telemetry/geo/geo'

type DeadZonesQuery = DeviceQuery &
  PastQuery & { sinceMinutes: number; plmn?: string | undefined; limit: number; zoneId?: string | undefined }

/** The end of a page, and the time at which its list was made. */
type Position = { madeMs: number; noServiceS: number; samples: number; id: string }

// All pages use the same list, but a cursor must not give access to data outside the plan's window.
const cursorHoldsMs = 3_600_000

/** Dead zones with their centre in the box, longest without service first. Throws 404 and 403. */
export async function listDeadZones(
  ctx: FleetContext,
  fleet: { deadZones: DeadZoneLists; revisions: Revisions; towns: Towns },
  reader: Reader,
  query: DeadZonesQuery,
  after: string | undefined,
) {
  const position = after === undefined ? undefined : (JSON.parse(after) as Position)
  const scope = await openCoverage(ctx, query)
  const group = await queriedGroup(ctx, scope.found, query.groupId)
  const { bbox, tag: tags, plmn, limit, zoneId } = query
  const request = { organizations: scope.organizations, group, tags, plmn }
  const madeMs = position && Math.max(position.madeMs, ctx.clock() - cursorHoldsMs)
  const list = await fleet.deadZones.read(reader, request, madeMs)
  const found = list.zones.filter(
    (zone) =>
      (!bbox || contains(bbox, zone.lat, zone.lon)) &&
      (zoneId === undefined || zone.id === zoneId) &&
      (!position || worstFirst(zone, position) > 0),
  )
  const zones = found.slice(0, limit)
  const [details, near] = await Promise.all([
    fleet.deadZones.details(reader, request, zones, list.madeMs),
    fleet.towns.near(zones),
  ])
  const last = zones.at(-1)
  const next: Position | null =
    last && found.length > zones.length
      ? { madeMs: list.madeMs, noServiceS: last.noServiceS, samples: last.samples, id: last.id }
      : null
  return {
    ...answerTime(scope, fleet.revisions, list.madeMs),
    h3Resolution: deadZoneResolution,
    items: zones.map((zone, index) => ({ ...zoneView(zone, details[index]), near: near[index] ?? null })),
    nextAfter: next && JSON.stringify(next),
  }
}

function zoneView({ lastAtMs, ...zone }: DeadZone, details: ZoneDetails | undefined) {
  const { id, lat, lon, bbox, cells, areaKm2, samples, noServiceS, serviceRatio } = zone
  const { devices = 0, worstPlmn = null, bestPlmn = null } = details ?? {}
  return {
    ...{ id, lat, lon, bbox, cells, areaKm2, samples, noServiceS, serviceRatio, devices, worstPlmn, bestPlmn },
    lastAt: new Date(lastAtMs).toISOString(),
  }
}
