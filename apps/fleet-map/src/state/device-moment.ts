import { bearingDeg, distanceM, toPlane } from '#telemetry/geo/geo'
import type { FleetDevice } from '../api/schemas.ts'
import { qualities } from '../map/palette.ts'
import { movingFromMps, type TrailPoint } from '../map/surface.ts'
import { type HistoryRow, numberOf, silenceMs, textOf } from './history-row.ts'
import type { RadioHistory } from './trail.ts'

type Signal = NonNullable<FleetDevice['signal']>

/** What a person reads of a measurement. */
export type ShownSignal = Pick<
  Signal,
  | ('ts' | 'rat' | 'plmn' | 'operatorName' | 'quality' | 'qualityBasis' | 'alignment' | 'alignErrorM')
  | ('rsrpDbm' | 'rsrqDb' | 'sinrDb' | 'nrRsrpDbm')
> &
  Partial<Pick<Signal, 'completedFrom'>>

/** What a device measured last, and where it was, at a time in its history. Undefined if it did not report before. */
export type DeviceMoment = { atMs: number; signal: ShownSignal | undefined; fix: TrailPoint | undefined }

/** Returns the moment of a device's history that the time slider shows. */
export const momentIn = ({ rows, trail }: Pick<RadioHistory, 'rows' | 'trail'>, atMs: number): DeviceMoment => {
  const row = rows.findLast(({ ts }) => Date.parse(ts) <= atMs)
  return { atMs, signal: row && signalOf(row), fix: trail.findLast(({ ts }) => ts <= atMs) }
}

const signalOf = (row: HistoryRow): ShownSignal => ({
  ...{ ts: row.ts, rat: textOf(row.rat), plmn: textOf(row.plmn), operatorName: textOf(row.operatorName) },
  ...{ rsrpDbm: numberOf(row.rsrpDbm), rsrqDb: numberOf(row.rsrqDb), sinrDb: numberOf(row.sinrDb) },
  nrRsrpDbm: numberOf(row.nrRsrpDbm),
  quality: qualities.find((quality) => quality === row.quality) ?? null,
  ...{
    qualityBasis: textOf(row.qualityBasis),
    alignment: textOf(row.alignment),
    alignErrorM: numberOf(row.alignErrorM),
  },
})

/**
 * Returns the device as it was at the end of a trail, for a marker that moves along it. Its times are those of now, because a marker
 * with old times means a device that no longer reports.
 */
export function deviceAt(device: FleetDevice, trail: readonly TrailPoint[], nowMs: number): FleetDevice {
  const last = trail.at(-1)
  if (!last) return device
  const ts = new Date(nowMs).toISOString()
  const { quality, noService, lat, lon } = last
  const signal = device.signal && { ...device.signal, ts, quality, rat: noService ? 'none' : device.signal.rat }
  const location = { lat, lon, fix: null, ts, ageMs: 0, accuracyM: last.alignErrorM, ...motionAt(trail, last) }
  return { ...device, status: 'online', dwell: null, location, signal }
}

/** The speed and heading at the end of a trail, from the last point at another place. */
function motionAt(trail: readonly TrailPoint[], last: TrailPoint) {
  const before = trail.findLast(({ lat, lon }) => lat !== last.lat || lon !== last.lon)
  if (!before || last.ts - before.ts > silenceMs) return { speedMps: 0, headingDeg: null }
  const speedMps = (distanceM(before, last) * 1_000) / Math.max(1, last.ts - before.ts)
  return speedMps < movingFromMps
    ? { speedMps: 0, headingDeg: null }
    : { speedMps, headingDeg: bearingDeg(toPlane(before, last)) }
}
