import type { MapDeviceState } from '#fleet-map/live/device-state'
import { type GroupMembers, isMember } from '#fleet-map/selection/group-members'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'
import type { AreaTest } from '#telemetry/geo/area'
import { type BoundingBox, contains, type Point } from '#telemetry/geo/geo'

/** Selects devices. A filter without members selects all devices. */
export type MapFilter = {
  bbox?: BoundingBox | undefined
  /** A place. */
  area?: Pick<AreaTest, 'contains' | 'bounds'> | undefined
  /** The device must have all of these tags. */
  tags?: readonly string[] | undefined
  members?: GroupMembers | undefined
  deviceIds?: readonly string[] | undefined
  rat?: string | undefined
  /** Classes of the signal; `unknown`: no signal. */
  signal?: readonly string[] | undefined
  plmn?: string | undefined
  /** The time of the last usable fix, both ends included. Null: no limit. */
  locatedMs?: { fromMs: number | null; toMs: number | null } | undefined
}

/** A device in a response, as it was when it was selected, without data that is older than the response's window. */
export type ShownDevice = {
  device: MapDeviceState
  location: PositionRow | null
  signal: SignalRow | null
  dwell: OngoingDwellRow | null
}

/** Whether a point is inside the bounding box and the place of a filter. */
export const isInside = ({ bbox, area }: Pick<MapFilter, 'bbox' | 'area'>, point: Point): boolean =>
  (!bbox || contains(bbox, point.lat, point.lon)) && (!area || area.contains(point))

const isOpenToSignals = ({ rat, plmn, signal }: Pick<MapFilter, 'rat' | 'plmn' | 'signal'>): boolean =>
  rat === undefined && plmn === undefined && signal === undefined

/** Returns true if the filter selects all devices. */
export const isOpen = ({ bbox, area, tags, members, deviceIds, rat, plmn, signal, locatedMs }: MapFilter): boolean =>
  !bbox && !area && !tags?.length && !members && !deviceIds && isOpenToSignals({ rat, plmn, signal }) && !locatedMs

export const shownDevice = (device: MapDeviceState, fromMs: number): ShownDevice => ({
  device,
  location: shownLocation(device, fromMs),
  signal: shownSignal(device, fromMs),
  dwell: device.dwell,
})

export const shownLocation = (device: MapDeviceState, fromMs: number): PositionRow | null =>
  (device.locatedAtMs ?? Number.NEGATIVE_INFINITY) >= fromMs ? device.location : null

export const shownSignal = (device: MapDeviceState, fromMs: number): SignalRow | null =>
  (device.measuredAtMs ?? Number.NEGATIVE_INFINITY) >= fromMs ? device.signal : null

/** Whether the last signal of a device, if it is not from before `fromMs`, is of these classes, this technology and this operator. */
export function matchesSignal(
  device: MapDeviceState,
  fromMs: number,
  filter: Pick<MapFilter, 'rat' | 'plmn' | 'signal'>,
): boolean {
  if (isOpenToSignals(filter)) return true
  const { rat, plmn, signal } = filter
  const shown = shownSignal(device, fromMs)
  if (rat !== undefined && shown?.rat !== rat) return false
  if (plmn !== undefined && shown?.plmn !== plmn) return false
  return signal === undefined || signal.includes(shown?.quality ?? 'unknown')
}

/** `bbox`, `area` and `locatedMs` apply to the last usable fix, `rat`, `plmn` and `signal` to the last signal, if they are not from before `fromMs`. */
export function matches(device: MapDeviceState, fromMs: number, filter: MapFilter): boolean {
  const { bbox, area, tags, members, deviceIds, locatedMs } = filter
  if (deviceIds && !deviceIds.includes(device.entry.deviceId)) return false
  if (members && !isMember(members, device.entry)) return false
  if (tags && !tags.every((tag) => device.entry.tags.includes(tag))) return false
  if (!matchesSignal(device, fromMs, filter)) return false
  if (!bbox && !area && !locatedMs) return true
  const location = shownLocation(device, fromMs)
  return location !== null && isInside(filter, location) && (!locatedMs || isWithin(locatedMs, location.tsMs))
}

const isWithin = ({ fromMs, toMs }: NonNullable<MapFilter['locatedMs']>, ms: number): boolean =>
  (fromMs === null || ms >= fromMs) && (toMs === null || ms <= toMs)
