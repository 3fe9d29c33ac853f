import type { LiveValue } from '#fleet-map/device-list/live-order'

/** What selects and sorts the devices of one organization in a list. Ids of other organizations match nothing. */
export type ListSource = {
  /** All devices of the organization. */
  ids(): Iterable<string>
  /** Whether a device matches the members of the filter that this source answers. */
  matches(deviceId: string): boolean
  /** What the list compares, if it is in an order of this source. */
  valueOf(deviceId: string): LiveValue
}
