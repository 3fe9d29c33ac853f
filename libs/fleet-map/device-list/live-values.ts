import type { LiveFilter, LiveSortKey } from '#fleet/devices/live-filter'
import type { ListSource } from '#fleet-map/device-list/list-source'
import type { LiveValue } from '#fleet-map/device-list/live-order'
import type { MapDeviceState } from '#fleet-map/live/device-state'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { matchesSignal, shownSignal } from '#fleet-map/selection/filter'

/** How many modems reported since `fromMs`, and how many of them have no service. */
export function modemsSince({ modems }: MapDeviceState, fromMs: number): { count: number; withoutService: number } {
  const recent = modems.filter(({ signal }) => signal.tsMs >= fromMs)
  return { count: recent.length, withoutService: recent.filter(({ signal }) => signal.rat === 'none').length }
}

/** Whether what is known since `fromMs` of a device matches a filter. */
function matchesLive(device: MapDeviceState, fromMs: number, filter: LiveFilter): boolean {
  if (!matchesSignal(device, fromMs, filter)) return false
  const { modems } = filter
  if (modems === undefined) return true
  const { count, withoutService } = modemsSince(device, fromMs)
  return modems === 'several' ? count > 1 : withoutService > 0
}

/** Weaker than any signal. */
const noServiceDbm = -200
const maxModems = 1_000

type ValueOf = (device: MapDeviceState, fromMs: number) => LiveValue

const valueToSort = {
  signal(device, fromMs) {
    const signal = shownSignal(device, fromMs)
    return signal?.rat === 'none' ? noServiceDbm : (signal?.rsrpDbm ?? null)
  },
  operator(device, fromMs) {
    const signal = shownSignal(device, fromMs)
    return signal?.operatorName?.toLowerCase() ?? signal?.plmn ?? null
  },
  modems(device, fromMs) {
    const { count, withoutService } = modemsSince(device, fromMs)
    return count === 0 ? null : withoutService * maxModems + count
  },
} satisfies Record<string, ValueOf>

/** Whether the live map has the values of an order. */
export const isMapSort = (key: LiveSortKey | undefined): key is keyof typeof valueToSort =>
  key !== undefined && key in valueToSort

/** Selects by what the live map knows since `fromMs`. */
export function mapSource(
  map: OrganizationMap,
  fromMs: number,
  filter: LiveFilter,
  key: LiveSortKey | undefined,
): ListSource {
  const sortedBy = isMapSort(key) ? valueToSort[key] : undefined
  return {
    ids: () => deviceIdsOf(map),
    matches(deviceId) {
      const device = map.device(deviceId)
      return device !== undefined && matchesLive(device, fromMs, filter)
    },
    valueOf(deviceId) {
      const device = map.device(deviceId)
      return device === undefined ? null : (sortedBy?.(device, fromMs) ?? null)
    },
  }
}

function* deviceIdsOf(map: OrganizationMap): Iterable<string> {
  for (const { entry } of map.devices()) yield entry.deviceId
}
