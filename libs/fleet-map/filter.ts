import type { DeviceState, LocationState, SignalState } from './device-state.ts'

/** minLon, minLat, maxLon, maxLat; minLon > maxLon spans the antimeridian. */
export type BoundingBox = readonly [minLon: number, minLat: number, maxLon: number, maxLat: number]

/** Which devices a reader wants to see; everything left out lets all pass. */
export type DeviceFilter = {
  bbox?: BoundingBox | undefined
  /** All of them must be on the device. */
  tags?: readonly string[] | undefined
  /** The devices of a group. */
  members?: ReadonlySet<string> | undefined
  rat?: string | undefined
  plmn?: string | undefined
}

/** A device as one answer shows it: what is older than the answer's window is not there. */
export type ShownDevice = { device: DeviceState; location: LocationState | null; signal: SignalState | null }

export const contains = ([minLon, minLat, maxLon, maxLat]: BoundingBox, lat: number, lon: number): boolean =>
  lat >= minLat && lat <= maxLat && (minLon <= maxLon ? lon >= minLon && lon <= maxLon : lon >= minLon || lon <= maxLon)

/** True when a filter lets every device pass. */
export const isOpen = ({ bbox, tags, members, rat, plmn }: DeviceFilter): boolean =>
  !bbox && !tags?.length && !members && rat === undefined && plmn === undefined

export function shownDevice(device: DeviceState, fromMs: number): ShownDevice {
  const { location, signal } = device
  return {
    device,
    location: location && location.tsMs >= fromMs ? location : null,
    signal: signal && signal.tsMs >= fromMs ? signal : null,
  }
}

/** `bbox` looks at the last usable fix, `rat` and `plmn` at the last signal. */
export function matches({ device, location, signal }: ShownDevice, filter: DeviceFilter): boolean {
  const { bbox, tags, members, rat, plmn } = filter
  if (members && !members.has(device.entry.deviceId)) return false
  if (tags && !tags.every((tag) => device.entry.tags.includes(tag))) return false
  if (rat !== undefined && signal?.rat !== rat) return false
  if (plmn !== undefined && signal?.plmn !== plmn) return false
  return !bbox || (location !== null && contains(bbox, location.lat, location.lon))
}
