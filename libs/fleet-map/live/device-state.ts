import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'

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

/** The fleet map's present state of a device. */
export type MapDeviceState = {
  readonly entry: RegistryEntry
  /** The device's position in the order of the map. It is not reused. */
  readonly ordinal: number
  /** The map's revision of the last change. */
  readonly revision: number
  /** A copy of what is known now, as `signal` and `dwell`; null if nothing is known or the device was removed. */
  readonly location: PositionRow | null
  readonly signal: SignalRow | null
  /** The newest signal of each modem, by name. `signal` is that of the active one. */
  readonly modems: readonly { isActive: boolean; signal: SignalRow }[]
  readonly dwell: OngoingDwellRow | null
  /** The times of `location` and `signal`, without a copy. */
  readonly locatedAtMs: number | null
  readonly measuredAtMs: number | null
}
