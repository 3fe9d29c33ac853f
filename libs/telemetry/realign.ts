import type { TimeRange } from './device-alignment.ts'
import type { DistinctFix } from './distinct-fixes.ts'
import { type DwellPolicy, isFreshStart } from './dwell.ts'

/** What to read for a realignment, ends included, and which rows come out right; infinite where a side is open. */
export type RealignWindow = { reports: TimeRange; rows: TimeRange }

/**
 * The part of a device's data that has to be worked through so that every row a dirty range can have touched comes out
 * as if all data had come in order: from the last fresh start before the range to the first one behind it. The reports
 * and rows inside are all that `align` needs. `fixes` are those stored around the range; where they hold no fresh
 * start, the window is open and more has to be read, or everything has been.
 */
export function realignWindow(fixes: readonly DistinctFix[], range: TimeRange, policy: DwellPolicy): RealignWindow {
  const open = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  const window = { reports: { ...open }, rows: { ...open } }
  for (let index = 1; index < fixes.length; index++) {
    const previous = fixes[index - 1]
    const fix = fixes[index]
    if (previous === undefined || fix === undefined || !isFreshStart(previous, fix, policy)) continue
    // Both ends of the jump must lie outside of the range: what came late may stand between them otherwise.
    // A fix dated back into the time of the previous one cannot be told without it.
    if (fix.firstReportMs < range.fromMs && fix.timeMs > previous.lastReportMs) {
      window.reports.fromMs = fix.firstReportMs
      window.rows.fromMs = fix.timeMs
    }
    if (previous.timeMs > range.toMs) {
      window.reports.toMs = fix.firstReportMs
      // A row at the very time of this fix may belong to another of the same time behind it.
      window.rows.toMs = fix.timeMs - 1
      break
    }
  }
  return window
}
