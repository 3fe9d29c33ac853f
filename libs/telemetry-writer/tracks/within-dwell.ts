import type { DeviceAlignmentState } from '#telemetry/position/device-alignment'
import { distinctFixes, type FixReport } from '#telemetry/position/distinct-fixes'
import type { OpenDwellSummary } from '#telemetry/position/dwell'
import { stateWithin } from '#telemetry/position/dwell-detector'

export type WithinDwell<Report> = {
  state: Pick<DeviceAlignmentState, 'fixes' | 'dwell' | 'newestReportMs'>
  /** The reports that the state does not include. */
  newer: Report[]
}

/**
 * Returns the state of an alignment at the newest fix that the stored row of an open dwell includes. Undefined if it is not
 * among these reports, which are ordered by time.
 */
export function withinDwell<Report extends FixReport>(
  dwell: OpenDwellSummary,
  reports: readonly Report[],
): WithinDwell<Report> | undefined {
  const included = reports.filter(({ tsMs }) => tsMs <= dwell.lastInsideAtMs)
  const fixes = distinctFixes(included)
  const last = fixes.at(-1)
  if (last?.lastReportMs !== dwell.lastInsideAtMs) return undefined
  return {
    state: { fixes, dwell: stateWithin(dwell, last), newestReportMs: last.lastReportMs },
    newer: reports.slice(included.length),
  }
}
