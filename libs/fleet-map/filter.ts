import { type GroupMembers, isMember } from '#fleet-map/group-members'
import type { DeviceState } from '#fleet-map/live/device-state'
import type { PositionRow, SignalRow } from '#questdb/fleet-gps'
import type { AreaTest } from '#telemetry/area'
import type { BoundingBox, Point } from '#telemetry/geo'

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

/** A device in a response, without data that is older than the response's window. */
export type ShownDevice = { device: DeviceState; location: PositionRow | null; signal: SignalRow | null }

export const contains = ([minLon, minLat, maxLon, maxLat]: BoundingBox, lat: number, lon: number): boolean =>
  lat >= minLat && lat <= maxLat && (minLon <= maxLon ? lon >= minLon && lon <= maxLon : lon >= minLon || lon <= maxLon)

/** Whether a point is inside the bounding box and the place of a filter. */
export const isInside = ({ bbox, area }: Pick<DeviceFilter, 'bbox' | 'area'>, point: Point): boolean =>
  (!bbox || contains(bbox, point.lat, point.lon)) && (!area || area.contains(point))

/** Returns true if the filter selects all devices. */
export const isOpen = ({ bbox, area, tags, members, deviceIds, rat, plmn }: DeviceFilter): boolean =>
  !bbox && !area && !tags?.length && !members && !deviceIds && rat === undefined && plmn === undefined

export function shownDevice(device: DeviceState, fromMs: number): ShownDevice {
  const { location, signal } = device
  return {
    device,
    location: location && location.tsMs >= fromMs ? location : null,
    signal: signal && signal.tsMs >= fromMs ? signal : null,
  }
}

/** `bbox` and `area` apply to the last usable fix, `rat` and `plmn` to the last signal. */
export function matches({ device, location, signal }: ShownDevice, filter: DeviceFilter): boolean {
  const { bbox, area, tags, members, deviceIds, rat, plmn } = filter
  if (deviceIds && !deviceIds.includes(device.entry.deviceId)) return false
  if (members && !isMember(members, device.entry)) return false
  if (tags && !tags.every((tag) => device.entry.tags.includes(tag))) return false
  if (rat !== undefined && signal?.rat !== rat) return false
  if (plmn !== undefined && signal?.plmn !== plmn) return false
  if (!bbox && !area) return true
  return location !== null && isInside(filter, location)
}
