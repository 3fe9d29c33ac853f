import type { OngoingDwellRow } from '#questdb/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet-gps'

/** A device's entry in the registry. */
export type RegistryEntry = {
  deviceId: string
  organizationId: string
  name: string
  status: string
  tags: readonly string[]
  /** Earlier samples belong to a previous owner or to no organization; null for the first owner. */
  ownedFromMs: number | null
}

/** The fleet map's state of a device. `revision` is the map's revision of the last change. */
export type DeviceState = {
  entry: RegistryEntry
  location: PositionRow | null
  signal: SignalRow | null
  dwell: OngoingDwellRow | null
  /** The device's position in the order of the map. It is not reused. */
  ordinal: number
  revision: number
}
