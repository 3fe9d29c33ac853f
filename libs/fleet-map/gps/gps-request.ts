import type { FleetContext } from '#fleet/context'
import { type MappedOrganization, mappedOrganizations, queriedGroup } from '#fleet-map/access'
import type { DevicePosition } from '#fleet-map/gps/selection'
import { type GroupMembers, readGroupMembers } from '#fleet-map/group-members'
import { type PlaceFilter, placeFilter } from '#fleet-map/places/filter'
import type { GpsQuery, Included } from '#fleet-map/queries'
import { type Moment, parseMomentToken } from '#fleet-map/revisions'
import { type OrganizationWindow, planWindows, windowsOf } from '#fleet-map/window'

/** The end of a page of devices, and the moment that its response describes. */
export type GpsCursor = { asOf: string; after: DevicePosition }

type OrganizationView = MappedOrganization & OrganizationWindow

const defaultInclude: readonly Included[] = ['devices', 'coverage', 'dwells']

/** A query with the reader's access, before anything is read. Equal for all readers that can share a response. */
export type GpsRequest = {
  query: GpsQuery
  include: ReadonlySet<Included>
  organizations: OrganizationView[]
  members: GroupMembers | undefined
  place: PlaceFilter | undefined
  since: Moment | undefined
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
    include: new Set<Included>(query.include ?? defaultInclude),
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

/** Identifies a filter: it selects the same devices for all readers of these organizations. */
export function filterKey({ query, organizations, place }: GpsRequest): string {
  const { deviceId, bbox, groupId, tag, rat, plmn } = query
  return JSON.stringify([windowsOf(organizations), deviceId, bbox, place?.key, groupId, tag, rat, plmn])
}

/** The same request with another `since`. Throws 400 if `since` is not an `asOf` value. */
export const sinceRequest = (request: GpsRequest, since: string | undefined): GpsRequest => ({
  ...request,
  query: { ...request.query, since },
  since: since === undefined ? undefined : parseMomentToken(since),
})
