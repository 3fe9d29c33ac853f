import { forEachInSlices } from '#core/slices'
import type { FleetContext } from '#fleet/context'
import { asksLive, isLiveSort, type LiveFilter, type LiveSelection } from '#fleet/devices/live-filter'
import { mappedOrganizations } from '#fleet-map/access'
import { type LiveValue, liveOrder } from '#fleet-map/device-list/live-order'
import { matchesLive, valueOfSort } from '#fleet-map/device-list/live-values'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import { planWindows } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'

/** A device list knows signals that are at most so old. */
export const liveMinutes = 1_440

type LiveRequest = { orgId?: string | undefined; filter: LiveFilter; sort?: string | undefined }

/**
 * Selects the devices of a list from the live maps, as they are now (`fleet:read`). Undefined if neither the filter nor the order
 * asks the live map. Throws 404, 403, and 403 `plan_feature`.
 */
export async function selectLive(
  ctx: FleetContext,
  fleet: { live: LiveMaps },
  reader: Reader,
  { orgId, filter, sort }: LiveRequest,
): Promise<LiveSelection | undefined> {
  const liveSort = isLiveSort(sort) ? sort : undefined
  if (!asksLive(filter) && liveSort === undefined) return undefined
  const { organizations } = planWindows(await mappedOrganizations(ctx, orgId, ['fleetGps']), liveMinutes)
  const nowMs = ctx.clock()
  const valueToSort = valueOfSort(liveSort)
  const ids: string[] = []
  const values: LiveValue[] = []
  for (const { organizationId, windowMs } of organizations) {
    const fromMs = nowMs - windowMs
    const map = await fleet.live.read(organizationId, fromMs, reader)
    await forEachInSlices(map.devices(), (device) => {
      if (!matchesLive(device, fromMs, filter)) return
      ids.push(device.entry.deviceId)
      values.push(valueToSort(device, fromMs))
    })
  }
  const isDescending = liveSort?.startsWith('-') ?? true
  return {
    organizationIds: organizations.map(({ organizationId }) => organizationId),
    ids,
    ...liveOrder(ids, values, isDescending),
  }
}
