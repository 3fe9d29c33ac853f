import { type GroupMembers, isMember } from '#fleet-map/group-members'
import type { DeviceState } from '#fleet-map/live/device-state'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'
import type { AreaTest } from '#telemetry/geo/area'
import type { BoundingBox, Point } from '#telemetry/geo/geo'

/** Selects devices. A filter without members selects all devices. */
export type DeviceFilter = {
  bbox?: BoundingBox | undefined
  /** A place. */
  area?: Pick<AreaTest, 'contains' | 'bounds'> | undefined
  /** The device must have all of these tags. */
  tags?: readonly string[] | undefined
  members?: GroupMembers | undefined
  deviceIds?: readonly string[] | undefined
  rat?: string | undefined
  plmn?: string | undefined
}

/** A device in a response, as it was when it was selected, without data that is older than the response's window. */
export type ShownDevice = {
  device: DeviceState
  location: PositionRow | null
  signal: SignalRow | null
  dwell: OngoingDwellRow | null
}

export const contains = ([minLon, minLat, maxLon, maxLat]: BoundingBox, lat: number, lon: number): boolean =>
  lat >= minLat && lat <= maxLat && (minLon <= maxLon ? lon >= minLon && lon <= maxLon : lon >= minLon || lon <= maxLon)

/** Whether a point is inside the bounding box and the place of a filter. */
export const isInside = ({ bbox, area }: Pick<DeviceFilter, 'bbox' | 'area'>, point: Point): boolean =>
  (!bbox || contains(bbox, point.lat, point.lon)) && (!area || area.contains(point))

/** Returns true if the filter selects all devices. */
export const isOpen = ({ bbox, area, tags, members, deviceIds, rat, plmn }: DeviceFilter): boolean =>
  !bbox && !area && !tags?.length && !members && !deviceIds && rat === undefined && plmn === undefined

export const shownDevice = (device: DeviceState, fromMs: number): ShownDevice => ({
  device,
  location: shownLocation(device, fromMs),
  signal: shownSignal(device, fromMs),
  dwell: device.dwell,
})

export const shownLocation = (device: DeviceState, fromMs: number): PositionRow | null =>
  (device.locatedAtMs ?? Number.NEGATIVE_INFINITY) >= fromMs ? device.location : null

export const shownSignal = (device: DeviceState, fromMs: number): SignalRow | null =>
  (device.measuredAtMs ?? Number.NEGATIVE_INFINITY) >= fromMs ? device.signal : null

/** `bbox` and `area` apply to the last usable fix, `rat` and `plmn` to the last signal, if they are not from before `fromMs`. */
export function matches(device: DeviceState, fromMs: number, filter: DeviceFilter): boolean {
  const { bbox, area, tags, members, deviceIds, rat, plmn } = filter
  if (deviceIds && !deviceIds.includes(device.entry.deviceId)) return false
  if (members && !isMember(members, device.entry)) return false
  if (tags && !tags.every((tag) => device.entry.tags.includes(tag))) return false
  if (rat !== undefined || plmn !== undefined) {
    const signal = shownSignal(device, fromMs)
    if (rat !== undefined && signal?.rat !== rat) return false
    if (plmn !== undefined && signal?.plmn !== plmn) return false
  }
  if (!bbox && !area) return true
  const location = shownLocation(device, fromMs)
  return location !== null && isInside(filter, location)
}
