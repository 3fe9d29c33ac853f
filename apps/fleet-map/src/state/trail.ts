import type { Quality } from '../api/types.ts'
import type { ChartMark } from '../components/chart.tsx'
import { qualities } from '../map/palette.ts'
import type { TrailPoint } from '../map/surface.ts'
import { type HistoryRow, numberOf, textOf } from './history.ts'

export type RadioHistory = {
  /** Milliseconds, ascending; one more entry with nulls inside every silence, so that charts show the gap. */
  times: number[]
  rsrpDbm: (number | null)[]
  nrRsrpDbm: (number | null)[]
  sinrDb: (number | null)[]
  marks: ChartMark[]
  trail: TrailPoint[]
}

const silenceMs = 5 * 60_000

const qualityOf = (row: HistoryRow): Quality | null => qualities.find((quality) => quality === row.quality) ?? null

/** Shapes a device's cellular rows (oldest first) for charts and for its trail on the map. */
export function radioHistory(rows: readonly HistoryRow[]): RadioHistory {
  const out: RadioHistory = { times: [], rsrpDbm: [], nrRsrpDbm: [], sinrDb: [], marks: [], trail: [] }
  const push = (ts: number, rsrp: number | null, nrRsrp: number | null, sinr: number | null) => {
    out.times.push(ts)
    out.rsrpDbm.push(rsrp)
    out.nrRsrpDbm.push(nrRsrp)
    out.sinrDb.push(sinr)
  }
  let lastTs: number | undefined
  let serving: { cellId: string | null; plmn: string | null; rat: string | null } | undefined
  for (const row of rows) {
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
        now.rat !== serving.rat ? `radio ${now.rat ?? 'unknown'}` : null,
        now.plmn !== serving.plmn ? `operator ${textOf(row.operatorName) ?? now.plmn ?? 'unknown'}` : null,
        now.cellId !== serving.cellId ? `cell ${now.cellId ?? 'unknown'}` : null,
      ].filter((change) => change !== null)
      if (changed.length > 0) out.marks.push({ ts, label: changed.join(', ') })
    }
    serving = now

    const lat = numberOf(row.lat)
    const lon = numberOf(row.lon)
    if (lat === null || lon === null) continue
    out.trail.push({
      ts,
      lat,
      lon,
      noService,
      quality: qualityOf(row),
      alignment: textOf(row.alignment) ?? 'none',
      alignErrorM: numberOf(row.alignErrorM),
    })
  }
  return out
}

/** The part of a trail up to a moment of the slider; all of it without one. */
export const trailUntil = (trail: readonly TrailPoint[], untilMs: number | null): TrailPoint[] =>
  untilMs === null ? [...trail] : trail.filter((point) => point.ts <= untilMs)
