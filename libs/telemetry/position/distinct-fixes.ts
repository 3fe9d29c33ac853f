import type { LocationRow } from '#telemetry/report/rows'
import { fixAccuracyM } from '#telemetry/report/usable'

/** The part of a usable location sample that alignment needs. */
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
 * One position of a receiver: consecutive reports with the same latitude and longitude. Receivers often refresh only
 * every 100 m, so a repeated position means that the router has not moved far.
 */
export type DistinctFix = {
  lat: number
  lon: number
  /** Time of the fix: `fixTs` if sent, otherwise the first report. Never decreases from fix to fix. */
  timeMs: number
  firstReportMs: number
  lastReportMs: number
  accuracyM: number
  /** Speed and heading of its first report. */
  speedMps: number | null
  headingDeg: number | null
  /** Whether there were more than 15 minutes between two of its reports. */
  gap: boolean
}

/** A longer time without reports inside a dwell is a gap. */
export const maxSilenceMs = 15 * 60_000

/** Returns the fix report of a location row. Null if the row is not usable. */
export function fixReport(row: LocationRow): FixReport | null {
  const { usable, tsMs, lat, lon, fixTs, speedMps, headingDeg } = row
  if (!usable || lat === null || lon === null) return null
  return { tsMs, lat, lon, fixTs, accuracyM: fixAccuracyM(row), speedMps, headingDeg }
}

export const isSamePosition = (a: { lat: number; lon: number }, b: { lat: number; lon: number }): boolean =>
  a.lat === b.lat && a.lon === b.lon

/**
 * Starts a new fix with a report that is not a repetition. Its time is limited to the range from the previous fix to the
 * report, because a receiver reports fixes in the order it made them.
 */
export function startFix(report: FixReport, previous: DistinctFix | undefined): DistinctFix {
  const { tsMs, lat, lon, accuracyM, speedMps, headingDeg } = report
  const claimedMs = Math.min(report.fixTs ?? tsMs, tsMs)
  const timeMs = previous === undefined ? claimedMs : Math.max(claimedMs, previous.timeMs)
  return { lat, lon, timeMs, firstReportMs: tsMs, lastReportMs: tsMs, accuracyM, speedMps, headingDeg, gap: false }
}

/** Returns the fix extended by one more report. */
export const repeatFix = (fix: DistinctFix, { tsMs }: FixReport): DistinctFix => ({
  ...fix,
  lastReportMs: tsMs,
  gap: fix.gap || tsMs - fix.lastReportMs > maxSilenceMs,
})

/** Returns the distinct fixes of reports that are ordered by `tsMs`. */
export function distinctFixes(reports: readonly FixReport[]): DistinctFix[] {
  const fixes: DistinctFix[] = []
  for (const report of reports) {
    const last = fixes.at(-1)
    if (last !== undefined && isSamePosition(last, report)) fixes[fixes.length - 1] = repeatFix(last, report)
    else fixes.push(startFix(report, last))
  }
  return fixes
}
