import { type Dwell, dwellId } from '#telemetry/position/dwell'

/** A dwell as the `dwell` table stores it. `tsMs` is the time of arrival. */
export type DwellRow = Omit<Dwell, 'arrivedAtMs'> & { tsMs: number; id: string; withdrawn: boolean }

/** Returns the row of a dwell. `withdrawn` marks a dwell that late data has revoked. */
export const dwellRow = (deviceId: string, dwell: Dwell, withdrawn = false): DwellRow => ({
  tsMs: dwell.arrivedAtMs,
  id: dwellId(deviceId, dwell.arrivedAtMs),
  departedAtMs: dwell.departedAtMs,
  firstOutsideAtMs: dwell.firstOutsideAtMs,
  lastInsideAtMs: dwell.lastInsideAtMs,
  lat: dwell.lat,
  lon: dwell.lon,
  radiusM: dwell.radiusM,
  fixCount: dwell.fixCount,
  accuracyM: dwell.accuracyM,
  anchorLat: dwell.anchorLat,
  anchorLon: dwell.anchorLon,
  gap: dwell.gap,
  withdrawn,
})
