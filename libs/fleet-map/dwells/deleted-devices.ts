import { existingDevices } from '#fleet/devices/ownership'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import type { Queryable } from '#postgres/pool'

/**
 * The devices among these that were deleted. The shared list of dwells can be older than a deletion. Devices that the maps
 * have are not looked up.
 */
export async function deletedAmong(
  db: Queryable,
  maps: readonly OrganizationMap[],
  deviceIds: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const unmapped = [...new Set(deviceIds)].filter((deviceId) => !maps.some((map) => map.device(deviceId)))
  if (unmapped.length === 0) return new Set()
  const existing = await existingDevices(db, unmapped)
  return new Set(unmapped.filter((deviceId) => !existing.has(deviceId)))
}
