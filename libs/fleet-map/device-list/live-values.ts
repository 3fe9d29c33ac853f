import type { LiveFilter, LiveSort } from '#fleet/devices/live-filter'
import type { LiveValue } from '#fleet-map/device-list/live-order'
import type { MapDeviceState } from '#fleet-map/live/device-state'
import { matchesSignal, shownSignal } from '#fleet-map/selection/filter'

/** How many modems reported since `fromMs`, and how many of them have no service. */
export function modemsSince({ modems }: MapDeviceState, fromMs: number): { count: number; withoutService: number } {
  const recent = modems.filter(({ signal }) => signal.tsMs >= fromMs)
  return { count: recent.length, withoutService: recent.filter(({ signal }) => signal.rat === 'none').length }
}

/** Whether what is known since `fromMs` of a device matches a filter. */
export function matchesLive(device: MapDeviceState, fromMs: number, filter: LiveFilter): boolean {
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

const valueToSort: Record<'signal' | 'operator' | 'modems', ValueOf> = {
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
}

/** What a list in this order compares. Devices are equal in a list without one. */
export const valueOfSort = (sort: LiveSort | undefined): ValueOf =>
  sort === undefined ? () => null : valueToSort[sort.replace('-', '') as keyof typeof valueToSort]
