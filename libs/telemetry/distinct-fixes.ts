import type { LocationRow } from './rows.ts'
import { fixAccuracyM } from './usable.ts'

/** One usable location sample, as far as alignment cares. */
export type FixReport = {
  tsMs: number
  lat: number
  lon: number
  /** When the receiver made the fix, as sent. */
  fixTs: number | null
  accuracyM: number
  speedMps: number | null
  /** Course over ground, clockwise from north, as sent. */
  headingDeg: number | null
}

/**
 * One position a receiver stood by: consecutive reports with the same latitude and longitude. Receivers often refresh
 * only every 100 m, so a repeat does not say where the router is now, only that it has not gone far.
 */
export type DistinctFix = {
  lat: number
  lon: number
  /** When it was made; its first report, or `fixTs` where that was sent. Never decreases from fix to fix. */
  timeMs: number
  firstReportMs: number
  lastReportMs: number
  accuracyM: number
  /** Speed and heading of its first report. */
  speedMps: number | null
  headingDeg: number | null
  /** Its reports were silent for over 15 minutes in between. */
  gap: boolean
}

/** Silence longer than this inside a stay is a gap. */
export const maxSilenceMs = 15 * 60_000

/** What alignment needs of a location row; null when the row must not move anything. */
export function fixReport(row: LocationRow): FixReport | null {
  const { usable, tsMs, lat, lon, fixTs, speedMps, headingDeg } = row
  if (!usable || lat === null || lon === null) return null
  return { tsMs, lat, lon, fixTs, accuracyM: fixAccuracyM(row), speedMps, headingDeg }
}

export const isSamePosition = (a: { lat: number; lon: number }, b: { lat: number; lon: number }): boolean =>
  a.lat === b.lat && a.lon === b.lon

/**
 * Starts a new fix with a report that is not a repeat. Its time is held between the previous fix's time and the
 * report: a receiver that claims to have made fixes in another order than it reported them is not believed.
 */
export function startFix(report: FixReport, previous: DistinctFix | undefined): DistinctFix {
  const { tsMs, lat, lon, accuracyM, speedMps, headingDeg } = report
  const claimedMs = Math.min(report.fixTs ?? tsMs, tsMs)
  const timeMs = previous === undefined ? claimedMs : Math.max(claimedMs, previous.timeMs)
  return { lat, lon, timeMs, firstReportMs: tsMs, lastReportMs: tsMs, accuracyM, speedMps, headingDeg, gap: false }
}

/** The same fix, standing until one more report. */
export const repeatFix = (fix: DistinctFix, { tsMs }: FixReport): DistinctFix => ({
  ...fix,
  lastReportMs: tsMs,
  gap: fix.gap || tsMs - fix.lastReportMs > maxSilenceMs,
})

/** The distinct fixes of reports in order of `tsMs`. */
export function distinctFixes(reports: readonly FixReport[]): DistinctFix[] {
  const fixes: DistinctFix[] = []
  for (const report of reports) {
    const last = fixes.at(-1)
    if (last !== undefined && isSamePosition(last, report)) fixes[fixes.length - 1] = repeatFix(last, report)
    else fixes.push(startFix(report, last))
  }
  return fixes
}
