import type { Quality } from '../api/schemas.ts'
import type { ChartMark } from '../components/chart.tsx'
import { qualities } from '../map/palette.ts'
import type { TrailPoint } from '../map/surface.ts'
import { type HistoryRow, numberOf, silenceMs, textOf } from './history-row.ts'

export type RadioHistory = {
  /** The signal measurements, oldest first. */
  rows: readonly HistoryRow[]
  /** Milliseconds, ascending. Every silence has one extra entry with null values, which charts show as a gap. */
  times: number[]
  rsrpDbm: (number | null)[]
  nrRsrpDbm: (number | null)[]
  sinrDb: (number | null)[]
  marks: ChartMark[]
  trail: TrailPoint[]
}

/** The positions and signal measurements of a device, both oldest first. */
export type SignalTrack = { cellular: HistoryRow[]; fixes: HistoryRow[] }

/** The track with the signal of one modem; null for a device that has one. */
export const ofModem = ({ cellular, fixes }: SignalTrack, modem: string | null): SignalTrack => ({
  cellular: modem === null ? cellular : cellular.filter((row) => row.modem === modem),
  fixes,
})

const qualityOf = (row: HistoryRow): Quality | null => qualities.find((quality) => quality === row.quality) ?? null

/** Converts a device's history for the charts and for the trail on the map. */
export function radioHistory({ cellular, fixes }: SignalTrack): RadioHistory {
  const out: RadioHistory = {
    rows: cellular,
    times: [],
    rsrpDbm: [],
    nrRsrpDbm: [],
    sinrDb: [],
    marks: [],
    trail: trailOf(cellular, fixes),
  }
  const push = (ts: number, rsrp: number | null, nrRsrp: number | null, sinr: number | null) => {
    out.times.push(ts)
    out.rsrpDbm.push(rsrp)
    out.nrRsrpDbm.push(nrRsrp)
    out.sinrDb.push(sinr)
  }
  let lastTs: number | undefined
  let serving: { cellId: string | null; plmn: string | null; rat: string | null } | undefined
  for (const row of cellular) {
    const ts = Date.parse(row.ts)
    if (lastTs !== undefined && ts - lastTs > silenceMs) push(lastTs + 1, null, null, null)
    lastTs = ts
    const rat = textOf(row.rat)
    const noService = rat === 'none'
    const rsrp = noService ? null : numberOf(row.rsrpDbm)
    const sinr = noService ? null : numberOf(row.sinrDb)
    push(ts, rsrp, noService ? null : numberOf(row.nrRsrpDbm), sinr)

    const now = { cellId: textOf(row.cellId), plmn: textOf(row.plmn), rat }
    if (serving) {
      const changed = [
        now.rat !== serving.rat ? `radio ${now.rat?.toUpperCase() ?? 'unknown'}` : null,
        now.plmn !== serving.plmn ? `operator ${textOf(row.operatorName) ?? now.plmn ?? 'unknown'}` : null,
        now.cellId !== serving.cellId ? `cell ${now.cellId ?? 'unknown'}` : null,
      ].filter((change) => change !== null)
      if (changed.length > 0) out.marks.push({ ts, label: changed.join(', ') })
    }
    serving = now
  }
  return out
}

const signalHoldsMs = 2 * 60_000

/**
 * Returns the trail: the measurements that have a position, and the usable fixes between them with the signal that was measured
 * last.
 */
function trailOf(cellular: readonly HistoryRow[], fixes: readonly HistoryRow[]): TrailPoint[] {
  const rows = [...cellular, ...fixes].sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0))
  const trail: TrailPoint[] = []
  let lastSignal: { ts: number; quality: Quality | null; noService: boolean } | undefined
  for (const row of rows) {
    const ts = Date.parse(row.ts)
    const isFix = row.kind === 'location'
    if (!isFix) lastSignal = { ts, quality: qualityOf(row), noService: row.rat === 'none' }
    const lat = numberOf(row.lat)
    const lon = numberOf(row.lon)
    if (lat === null || lon === null || (isFix && row.usable !== true)) continue
    const signal = lastSignal && ts - lastSignal.ts <= signalHoldsMs ? lastSignal : undefined
    trail.push({
      ts,
      lat,
      lon,
      noService: signal?.noService ?? false,
      quality: signal?.quality ?? null,
      alignment: isFix ? 'exact' : (textOf(row.alignment) ?? 'none'),
      alignErrorM: isFix ? numberOf(row.accuracyM) : numberOf(row.alignErrorM),
    })
  }
  return trail
}

/** Returns the part of a trail up to a time; the whole trail when the time is null. */
export const trailUntil = (trail: readonly TrailPoint[], untilMs: number | null): TrailPoint[] =>
  untilMs === null ? [...trail] : trail.filter((point) => point.ts <= untilMs)
