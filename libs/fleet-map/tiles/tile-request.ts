import type { FleetContext } from '#fleet/context'
import { groupMembers, mappedOrganizations } from '#fleet-map/access'
import type { FleetSources } from '#fleet-map/fleet-sources'
import type { TilesQuery } from '#fleet-map/queries'
import { type TileLayerName, tileLayerNames } from '#fleet-map/tiles/tile-feature'
import { type OrganizationWindow, planWindows, windowsOf } from '#fleet-map/window'

/** A query of tiles with the caller's access. */
export type TileRequest = {
  query: TilesQuery
  organizations: OrganizationWindow[]
  /** Of these, the organizations whose plan includes coverage. */
  covered: OrganizationWindow[]
  members: ReadonlySet<string> | undefined
  /** The requested layers that the plan includes. */
  layers: TileLayerName[]
  /** The requested layers that the plan lacks. */
  omitted: TileLayerName[]
}

/** Determines the organizations, devices and layers of a query. Throws 404 and 403. */
export async function openTiles(ctx: FleetContext, fleet: FleetSources, query: TilesQuery): Promise<TileRequest> {
  const found = await mappedOrganizations(ctx, query.orgId, ['fleetGps'])
  const { groupId } = query
  const members =
    groupId === undefined
      ? undefined
      : await fleet.tiles.members.read(
          JSON.stringify([groupId, found.map(({ organizationId }) => organizationId)]),
          async () => (await groupMembers(ctx, found, groupId)) ?? new Set(),
        )
  const { organizations } = planWindows(found, query.sinceMinutes)
  const covered = windowsOf(organizations.filter(({ coverage }) => coverage))
  const requested = tileLayerNames.filter((name) => query.layers?.includes(name) ?? true)
  const isInPlan = (name: TileLayerName) => name !== 'coverage' || covered.length > 0
  return {
    query,
    organizations: windowsOf(organizations),
    covered,
    members,
    layers: requested.filter(isInPlan),
    omitted: requested.filter((name) => !isInPlan(name)),
  }
}
