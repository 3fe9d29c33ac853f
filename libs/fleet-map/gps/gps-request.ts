import type { FleetContext } from '#fleet/context'
import { type MappedOrganization, mappedOrganizations, queriedGroup } from '#fleet-map/access'
import type { CoverageQuery } from '#fleet-map/coverage/coverage'
import { type PlaceFilter, placeFilter } from '#fleet-map/places/filter'
import { type MapMoment, parseMomentToken } from '#fleet-map/revisions'
import type { MapFilter } from '#fleet-map/selection/filter'
import { type GroupMembers, readGroupMembers } from '#fleet-map/selection/group-members'
import type { DevicePosition } from '#fleet-map/selection/selection'
import type { DeviceRequest } from '#fleet-map/selection/selections'
import { type OrganizationWindow, type PastQuery, planWindows, windowsOf } from '#fleet-map/window'

/** The parts of a fleet GPS response. */
export const includable = ['devices', 'coverage', 'dwells', 'trails', 'modems'] as const
type Included = (typeof includable)[number]

export type GpsQuery = Omit<CoverageQuery, keyof PastQuery> & {
  placeId?: string | undefined
  /** Only these devices. Does not apply to coverage and dwells. */
  deviceId?: string[] | undefined
  /** Paths or groups of `deviceFieldNames`. */
  fields?: string[] | undefined
  include?: Included[] | undefined
  cluster?: boolean | undefined
  /** Only devices whose last fix is from this time. */
  locatedMs?: MapFilter['locatedMs']
  format: 'json' | 'columnar' | 'geojson'
  /** The `asOf` of an earlier response. */
  since?: string | undefined
  cursor?: string | undefined
}

/** The end of a page of devices, and the moment that its response describes. */
export type GpsCursor = { asOf: string; after: DevicePosition }

type OrganizationView = MappedOrganization & OrganizationWindow

const devices: readonly Included[] = ['devices']
const defaultInclude: readonly Included[] = ['devices', 'coverage', 'dwells']

/** A query with the reader's access, before anything is read. Equal for all readers that can share a response. */
export type GpsRequest = {
  query: GpsQuery
  include: ReadonlySet<Included>
  organizations: OrganizationView[]
  members: GroupMembers | undefined
  place: PlaceFilter | undefined
  since: MapMoment | undefined
  cursor: GpsCursor | undefined
  limitedBy: 'plan' | null
}

/** Determines the organizations, devices and times of a query. Throws 404, 403 and 400. */
export async function openGps(ctx: FleetContext, query: GpsQuery, cursor?: GpsCursor): Promise<GpsRequest> {
  const since = query.since === undefined ? undefined : parseMomentToken(query.since)
  const isAskedFor = (part: Included) => query.include?.includes(part) ?? false
  const found = await mappedOrganizations(
    ctx,
    query.orgId,
    isAskedFor('coverage') ? ['fleetGps', 'coverage'] : ['fleetGps'],
  )
  const group = await queriedGroup(ctx, found, query.groupId)
  return {
    query,
    // Modems are part of devices.
    include: new Set<Included>([...(query.include ?? defaultInclude), ...(isAskedFor('modems') ? devices : [])]),
    ...planWindows(found, query.sinceMinutes),
    members: group && (await readGroupMembers(ctx.pool, group)),
    place: await placeFilter(ctx.pool, found, query.placeId),
    since,
    cursor,
  }
}

/** Which devices a request is about. `bbox` contains the place of the request. */
export const scopeOf = ({ query, members, place }: GpsRequest) => ({
  bbox: query.bbox ?? place?.bounds,
  group: members?.group,
  tags: query.tag,
})

/** The part of a request that selects devices. */
export function deviceRequestOf(request: GpsRequest): DeviceRequest {
  const { query, organizations, members, place, since, cursor } = request
  const { deviceId: deviceIds, bbox, groupId, tag: tags, rat, plmn, locatedMs } = query
  return {
    filterKey: JSON.stringify([
      windowsOf(organizations),
      deviceIds,
      bbox,
      place?.key,
      groupId,
      tags,
      rat,
      plmn,
      locatedMs,
    ]),
    filter: { bbox, area: place, tags, members, deviceIds, rat, plmn, locatedMs },
    since: since && { ...since, asOf: query.since ?? '' },
    after: cursor?.after,
  }
}

/** The same request with another `since`. Throws 400 if `since` is not an `asOf` value. */
export const sinceRequest = (request: GpsRequest, since: string | undefined): GpsRequest => ({
  ...request,
  query: { ...request.query, since },
  since: since === undefined ? undefined : parseMomentToken(since),
})
