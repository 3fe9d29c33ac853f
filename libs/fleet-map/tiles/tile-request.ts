import type { FleetContext } from '#fleet/context'
import { findEffectiveGroup } from '#fleet/groups/effective-members'
import { type MappedOrganization, mappedOrganizations } from '#fleet-map/access'
import type { FleetSources } from '#fleet-map/fleet-sources'
import { type GroupMembers, readGroupMembers } from '#fleet-map/group-members'
import type { TilesQuery } from '#fleet-map/queries'
import { type TileLayerName, tileLayerNames } from '#fleet-map/tiles/tile-feature'
import { inPast, type OrganizationWindow, pastRange, planWindows, windowsOf } from '#fleet-map/window'

/** A query of tiles with the caller's access. */
export type TileRequest = {
  query: TilesQuery
  organizations: OrganizationWindow[]
  /** The same organizations with the time of dwells. */
  dwelt: OrganizationWindow[]
  /** Those whose plan includes coverage, with the time of coverage. */
  covered: OrganizationWindow[]
  members: GroupMembers | undefined
  /** The requested layers that the plan includes. */
  layers: TileLayerName[]
  /** The requested layers that the plan lacks. */
  omitted: TileLayerName[]
}

/** Determines the organizations, devices, times and layers of a query. Throws 404, 403, and 400 for a wrong window. */
export async function openTiles(ctx: FleetContext, fleet: FleetSources, query: TilesQuery): Promise<TileRequest> {
  const past = pastRange(query)
  const found = await mappedOrganizations(ctx, query.orgId, ['fleetGps'])
  const members = await sharedMembers(ctx, fleet, found, query.groupId)
  const windows = planWindows(found, query.sinceMinutes)
  const timed = inPast(windows, past, ctx.clock()).organizations
  const covered = windowsOf(timed.filter(({ coverage }) => coverage))
  const requested = tileLayerNames.filter((name) => query.layers?.includes(name) ?? true)
  const isInPlan = (name: TileLayerName) => name !== 'coverage' || covered.length > 0
  return {
    query,
    organizations: windowsOf(windows.organizations),
    dwelt: windowsOf(timed),
    covered,
    members,
    layers: requested.filter(isInPlan),
    omitted: requested.filter((name) => !isInPlan(name)),
  }
}

async function sharedMembers(
  ctx: FleetContext,
  fleet: FleetSources,
  organizations: readonly MappedOrganization[],
  groupId: string | undefined,
): Promise<GroupMembers | undefined> {
  if (groupId === undefined) return undefined
  const organizationIds = organizations.map(({ organizationId }) => organizationId)
  return fleet.tiles.members.read(JSON.stringify([groupId, organizationIds]), async () =>
    readGroupMembers(ctx.pool, await findEffectiveGroup(ctx, ctx.pool, { organizationIds, groupId })),
  )
}
