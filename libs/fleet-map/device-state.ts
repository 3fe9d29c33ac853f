/** A device's newest usable fix. `ts` is `tsMs` as text, formatted once instead of in each response. */
export type LocationState = {
  tsMs: number
  ts: string
  lat: number
  lon: number
  fix: string | null
  accuracyM: number | null
  speedMps: number | null
  headingDeg: number | null
}

/** A device's newest cellular sample, with the position where it was measured. */
export type SignalState = {
  tsMs: number
  ts: string
  rat: string | null
  plmn: string | null
  operatorName: string | null
  rsrpDbm: number | null
  rsrqDb: number | null
  sinrDb: number | null
  nrRsrpDbm: number | null
  quality: string | null
  qualityBasis: string | null
  alignment: string | null
  alignErrorM: number | null
  lat: number | null
  lon: number | null
}

/** A device's ongoing dwell. */
export type OngoingDwell = { arrivedAtMs: number; arrivedAt: string; lat: number; lon: number; radiusM: number }

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
  location: LocationState | null
  signal: SignalState | null
  dwell: OngoingDwell | null
  /** The device's position in the order of the map. It is not reused. */
  ordinal: number
  revision: number
}
