import type { FleetContext } from '#fleet/context'
import { findEffectiveGroup } from '#fleet/groups/effective-members'
import { type DeviceQuery, type MappedOrganization, mappedOrganizations } from '#fleet-map/access'
import { type GroupMembers, readGroupMembers } from '#fleet-map/selection/group-members'
import { type TileLayerName, tileLayerNames } from '#fleet-map/tiles/tile-feature'
import type { TileSources } from '#fleet-map/tiles/tile-sources'
import {
  inPast,
  type OrganizationWindow,
  type PastQuery,
  pastRange,
  planWindows,
  type WindowRange,
  windowsOf,
  windowView,
} from '#fleet-map/window'

export type TilesQuery = Omit<DeviceQuery, 'bbox'> &
  PastQuery & {
    sinceMinutes: number
    status?: string | undefined
    rat?: string | undefined
    plmn?: string | undefined
    signal?: string[] | undefined
    layers?: TileLayerName[] | undefined
  }

/** A query of tiles with the caller's access. */
export type TileRequest = {
  query: TilesQuery
  organizations: OrganizationWindow[]
  /** The range of a request for another time than until now. */
  past: WindowRange | undefined
  /** The same organizations with the time of dwells. */
  dwelt: OrganizationWindow[]
  /** Those whose plan includes coverage, with the time of coverage. */
  covered: OrganizationWindow[]
  members: GroupMembers | undefined
  /** The requested layers that the plan includes. */
  layers: TileLayerName[]
  /** The time of the request within the plan. */
  window: ReturnType<typeof windowView>
  /** The requested layers that the plan lacks. */
  omitted: TileLayerName[]
}

/** Determines the organizations, devices, times and layers of a query. Throws 404, 403, and 400 for a wrong window. */
export async function openTiles(
  ctx: FleetContext,
  fleet: { tiles: TileSources },
  query: TilesQuery,
): Promise<TileRequest> {
  const past = pastRange(query)
  const found = await mappedOrganizations(ctx, query.orgId, ['fleetGps'])
  const members = await sharedMembers(ctx, fleet, found, query.groupId)
  const windows = planWindows(found, query.sinceMinutes)
  const nowMs = ctx.clock()
  const inTime = inPast(windows, past, nowMs)
  const timed = inTime.organizations
  const covered = windowsOf(timed.filter(({ coverage }) => coverage))
  const requested = tileLayerNames.filter((name) => query.layers?.includes(name) ?? true)
  const isInPlan = (name: TileLayerName) => name !== 'coverage' || covered.length > 0
  return {
    query,
    organizations: windowsOf(windows.organizations),
    past,
    window: windowView(inTime, nowMs),
    dwelt: windowsOf(timed),
    covered,
    members,
    layers: requested.filter(isInPlan),
    omitted: requested.filter((name) => !isInPlan(name)),
  }
}

async function sharedMembers(
  ctx: FleetContext,
  fleet: { tiles: TileSources },
  organizations: readonly MappedOrganization[],
  groupId: string | undefined,
): Promise<GroupMembers | undefined> {
  if (groupId === undefined) return undefined
  const organizationIds = organizations.map(({ organizationId }) => organizationId)
  return fleet.tiles.members.read(JSON.stringify([groupId, organizationIds]), async () =>
    readGroupMembers(ctx.pool, await findEffectiveGroup(ctx, ctx.pool, { organizationIds, groupId })),
  )
}
