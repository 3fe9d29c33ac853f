import { type DistinctFix, distinctFixes, type FixReport } from '#telemetry/position/distinct-fixes'
import type { OpenDwellSummary } from '#telemetry/position/dwell'
import type { WithinDwell } from '#telemetry/position/dwell-detector'

/** An open dwell up to its newest fix that its stored row includes, and the reports that it does not include. */
export type StoredWithin<Report> = WithinDwell & { newer: Report[] }

/**
 * Returns what is known of an open dwell from its stored row and these reports, which are ordered by time. Undefined if the newest
 * fix that the row includes is not among them.
 */
export function withinDwell<Report extends FixReport>(
  summary: OpenDwellSummary,
  reports: readonly Report[],
): StoredWithin<Report> | undefined {
  const included = reports.filter(({ tsMs }) => tsMs <= summary.lastInsideAtMs)
  const fixes: DistinctFix[] = distinctFixes(included)
  if (fixes.at(-1)?.lastReportMs !== summary.lastInsideAtMs) return undefined
  return { summary, fixes, newer: reports.slice(included.length) }
}
