import type { StoredCellularRow } from '#questdb/device-tracks'
import { createDeviceAlignment, type DeviceAlignment, type TimeRange } from '#telemetry/device-alignment'
import type { FixReport } from '#telemetry/distinct-fixes'
import { type DeviceClass, type Dwell, dwellId, dwellPolicies } from '#telemetry/dwell'

/** A stay as the `dwell` table holds it. */
export type DwellRow = Omit<Dwell, 'arrivedAtMs' | 'accuracyM'> & { tsMs: number; id: string; withdrawn: boolean }

/** Where a device is and was, as far as its RF rows need it. */
export type DeviceTrack = {
  deviceClass: DeviceClass
  alignment: DeviceAlignment
  /** Times whose rows are to be aligned again from what is stored; few and disjoint. */
  dirty: TimeRange[]
  /** The open stay as it was last written. */
  written: { arrivedAtMs: number; lastInsideAtMs: number } | undefined
}

export type TrackStep = { rows: StoredCellularRow[]; dwells: DwellRow[] }

export const createDeviceTrack = (deviceClass: DeviceClass): DeviceTrack => ({
  deviceClass,
  alignment: createDeviceAlignment(dwellPolicies[deviceClass]),
  dirty: [],
  written: undefined,
})

/** An open stay only grows; readers are content with its newest minute. */
const rewriteOpenAfterMs = 60_000
const maxDirtyRanges = 16

/**
 * Takes one report's fixes and RF rows. Returns the rows to write, earlier ones that are placed better now included,
 * and the stays that began, grew or ended.
 */
export function advanceTrack(
  track: DeviceTrack,
  deviceId: string,
  reports: readonly FixReport[],
  samples: readonly StoredCellularRow[],
): TrackStep {
  const { rows, closed, open, dirty } = track.alignment.apply(reports, samples)
  for (const range of dirty) markDirty(track, range)
  const dwells = closed.map((dwell) => dwellRow(deviceId, dwell))
  if (open !== null && isWorthWriting(track, open)) {
    track.written = { arrivedAtMs: open.arrivedAtMs, lastInsideAtMs: open.lastInsideAtMs }
    dwells.push(dwellRow(deviceId, open))
  }
  // Alignment returns the rows it was given with another position, so they still say where they came from.
  return { rows: rows as StoredCellularRow[], dwells }
}

/** Notes a time to be aligned again. */
export function markDirty(track: DeviceTrack, range: TimeRange): void {
  let merged = range
  const apart = track.dirty.filter((known) => {
    const isApart = known.toMs < merged.fromMs || known.fromMs > merged.toMs
    if (!isApart) merged = hull(known, merged)
    return isApart
  })
  apart.push(merged)
  track.dirty = apart.length > maxDirtyRanges ? [apart.reduce(hull)] : apart
}

const hull = (a: TimeRange, b: TimeRange): TimeRange => ({
  fromMs: Math.min(a.fromMs, b.fromMs),
  toMs: Math.max(a.toMs, b.toMs),
})

function isWorthWriting({ written }: DeviceTrack, open: Dwell): boolean {
  if (written?.arrivedAtMs !== open.arrivedAtMs) return true
  return open.lastInsideAtMs - written.lastInsideAtMs >= rewriteOpenAfterMs
}

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
  gap: dwell.gap,
  withdrawn,
})
