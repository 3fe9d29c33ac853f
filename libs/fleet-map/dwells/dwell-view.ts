import type { StoredDwellRow } from '#questdb/fleet/dwells'
import type { DwellSignal } from '#telemetry/coverage/dwell-signal'

/** A dwell of the API. The duration of an ongoing dwell ends now. */
export function dwellView(row: StoredDwellRow, signal: DwellSignal | null, nowMs: number) {
  const { id, deviceId, arrivedAtMs, departedAtMs, firstOutsideAtMs, lat, lon, radiusM, fixCount, gap } = row
  return {
    id,
    deviceId,
    arrivedAt: new Date(arrivedAtMs).toISOString(),
    departedAt: textOf(departedAtMs),
    firstOutsideAt: textOf(firstOutsideAtMs),
    durationS: Math.round(((departedAtMs ?? nowMs) - arrivedAtMs) / 1_000),
    lat,
    lon,
    radiusM,
    fixCount,
    gap,
    rsrpP50Dbm: signal?.rsrpP50Dbm ?? null,
    sinrP50Db: signal?.sinrP50Db ?? null,
    noServiceS: signal?.noServiceS ?? null,
  }
}

export const dwellPaths = [
  'id',
  'deviceId',
  'arrivedAt',
  'departedAt',
  'firstOutsideAt',
  'durationS',
  'lat',
  'lon',
  'radiusM',
  'fixCount',
  'gap',
  'rsrpP50Dbm',
  'sinrP50Db',
  'noServiceS',
] as const satisfies readonly (keyof ReturnType<typeof dwellView>)[]

const textOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())
