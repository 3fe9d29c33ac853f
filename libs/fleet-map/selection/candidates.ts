import { filterInSlices } from '#core/slices'
import type { MapDeviceState } from '#fleet-map/live/device-state'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { isOpen, type MapFilter, matches } from '#fleet-map/selection/filter'

/** The map of an organization, and the start of the response's window. */
export type MapWindow = { map: OrganizationMap; fromMs: number }

/** What the reader already has: the state at a revision and a time. */
export type Seen = {
  revision: number
  timeMs: number
  /** Devices that the filter selected then; undefined if they are not cached. */
  deviceIds: ReadonlySet<string> | undefined
}

/** A search for devices at a time, by a reader who may have seen some. */
type Search = { filter: MapFilter; seen?: Seen | undefined; nowMs: number }

/** The devices that a filter selected in a map at a revision. */
export type Found = { revision: number; devices: readonly MapDeviceState[] }

/**
 * Finds the devices that a filter selects, in slices, so that a large map does not hold up other requests. The maps can change
 * meanwhile: `selectDevices` visits what has changed again.
 */
export function findCandidates(windows: readonly MapWindow[], filter: MapFilter): Promise<Found[]> {
  return Promise.all(
    windows.map(async ({ map, fromMs }) => {
      const revision = map.changedAt()
      const isSelected = (device: MapDeviceState) => matches(device, fromMs, filter)
      return { revision, devices: await filterInSlices(candidates(map, filter), isSelected) }
    }),
  )
}

/**
 * The devices among which a selection looks in one map: what is new since `base`, or what was found and has changed since, or
 * all devices that the filter can select.
 */
export function devicesToVisit(
  { map, fromMs }: MapWindow,
  { filter, seen, nowMs }: Search,
  base: Seen | undefined,
  found: Found | undefined,
): Iterable<MapDeviceState> {
  // Data of this time has left the window since the reader saw it.
  const expired = seen && { fromMs: fromMs - (nowMs - seen.timeMs), toMs: fromMs }
  if (base) return map.changedSince(base.revision, expired)
  // A reader also learns which devices have left the box.
  if (!found) return candidates(map, seen ? { deviceIds: filter.deviceIds } : filter)
  const changed = [...map.changedSince(found.revision), ...(seen ? map.changedSince(seen.revision, expired) : [])]
  const kept = found.devices.filter((device) => map.deviceAt(device.ordinal) === device)
  return changed.length === 0 ? kept : [...new Set([...kept, ...changed])].sort((a, b) => a.ordinal - b.ordinal)
}

/**
 * What a delta starts from, so that it visits only what is new in the maps. Undefined if it must visit all devices: then it
 * is unknown what the filter selected before, or the filter can change without a change in the maps.
 */
export function knownBase(windows: readonly MapWindow[], { filter, seen }: Omit<Search, 'nowMs'>): Seen | undefined {
  if (!seen || filter.members || filter.deviceIds || !(seen.deviceIds || isOpen(filter))) return undefined
  return windows.some(({ map }) => map.knownSince() > seen.revision) ? undefined : seen
}

/** The devices that a filter can select, in the order of the map. A filter by id or by box visits no other devices. */
function candidates(
  map: OrganizationMap,
  { deviceIds, bbox, area }: Pick<MapFilter, 'deviceIds' | 'bbox' | 'area'>,
): Iterable<MapDeviceState> {
  const box = bbox ?? area?.bounds
  if (!deviceIds) return box ? map.devicesWithin(box) : map.devices()
  const found = [...new Set(deviceIds)].flatMap((deviceId) => map.device(deviceId) ?? [])
  return found.sort((a, b) => a.ordinal - b.ordinal)
}
