/** Where a device's newest usable fix is; `ts` repeats `tsMs` as text, made once instead of at every answer. */
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

/** The dwell a device is in. */
export type OngoingDwell = { arrivedAtMs: number; arrivedAt: string; lat: number; lon: number; radiusM: number }

/** What the registry says of a device. */
export type RegistryEntry = {
  deviceId: string
  organizationId: string
  name: string
  status: string
  tags: readonly string[]
  /** What was measured before this belongs to an earlier owner, or to nobody; null for the first owner. */
  ownedFromMs: number | null
}

/** All the fleet map shows of one device. `revision` is the map's revision in which any of it last changed. */
export type DeviceState = {
  entry: RegistryEntry
  location: LocationState | null
  signal: SignalState | null
  dwell: OngoingDwell | null
  /** Its place in the order of the map, never used again for another device. */
  ordinal: number
  revision: number
}
