import { createNumberList } from '#core/number-list'
import type { RadioFacts } from '#telemetry/report/rows'
import { alignSample, placeRow, trackOf } from './align.ts'
import { alignReport } from './align-report.ts'
import { createDeviceAlignment, type DeviceAlignment, type TimeRange, undecidedDwellMs } from './device-alignment.ts'
import { type DistinctFix, type FixReport, isSamePosition, repeatFix, startFix } from './distinct-fixes.ts'
import { type Dwell, type DwellPolicy, isFreshStart } from './dwell.ts'
import { dropFixes, fixCount, fixMadeBy, fixReportedBy, fixTimeMs, takeFixReport } from './fix-list.ts'
import type { RealignStart } from './realign-start.ts'

/*
 * A dirty range is realigned from the last fresh start before it to the first one after it, so that every affected row is
 * the same as if all data had arrived in order. The amount of data in between is not limited, so it is read in pages, in
 * three passes: backwards to the start (`createStartSearch`), over the fixes, over the rows.
 */

/** The pass over the fixes. */
export type FixScan = {
  /** Takes the next reports in order of time. Returns the dwells that ended with them and the open one. */
  take(reports: readonly FixReport[]): Dwell[]
  /** Returns true after a fresh start behind the range. Later reports do not change the rows up to `rowsToMs`. */
  isClosed(): boolean
  /** Returns the last time with correct rows. Infinity until the scan is closed. */
  rowsToMs(): number
  newestReportMs(): number
  /** Time of the newest fix. */
  newestFixMs(): number
  /** The dwells of the rows up to `rowsToMs`, an open one last. */
  dwells(): Dwell[]
  /** Returns the arrival from which later reports can still change dwells. */
  undecidedDwellMs(): number
  /** The alignment after these reports, without RF rows. */
  alignment: DeviceAlignment<never>
}

/** Starts a pass over the fixes from `start` on. */
export function createFixScan(policy: DwellPolicy, start: RealignStart, range: TimeRange): FixScan {
  const alignment = createDeviceAlignment<never>(Math.max(start.rowsFromMs, 0))
  const closedDwells: Dwell[] = []
  let open: Dwell | null = null
  let beforeLast: DistinctFix | undefined
  let last: DistinctFix | undefined
  let newestReportMs = 0
  let rowsToMs = Number.POSITIVE_INFINITY

  /** How many of the reports belong to the scan. */
  function countUntilClosed(reports: readonly FixReport[]): number {
    for (const [index, report] of reports.entries()) {
      if (last !== undefined && isSamePosition(last, report)) {
        last = repeatFix(last, report)
        continue
      }
      const fix = startFix(report, last)
      // The time of `last` bends the curve behind this fix. Late data can change it while only `last` is behind the range.
      const isBehind = beforeLast !== undefined && beforeLast.timeMs > range.toMs
      const isEnd = isBehind && last !== undefined && isFreshStart(last, fix, policy)
      beforeLast = last
      last = fix
      if (!isEnd) continue
      // A row at the very time of this fix may belong to another of the same time behind it.
      rowsToMs = fix.timeMs - 1
      return index + 1
    }
    return reports.length
  }

  return {
    take(reports) {
      if (rowsToMs !== Number.POSITIVE_INFINITY) return []
      const taken = reports.slice(0, countUntilClosed(reports))
      newestReportMs = taken.at(-1)?.tsMs ?? newestReportMs
      const step = alignReport(alignment, policy, taken, [])
      for (const dwell of step.closed) closedDwells.push(dwell)
      // A dwell that the closing fresh start opens continues after it.
      open = rowsToMs === Number.POSITIVE_INFINITY ? step.open : null
      return open === null ? step.closed : [...step.closed, open]
    },
    isClosed: () => rowsToMs !== Number.POSITIVE_INFINITY,
    rowsToMs: () => rowsToMs,
    newestReportMs: () => newestReportMs,
    newestFixMs: () => last?.timeMs ?? 0,
    dwells: () => (open === null ? [...closedDwells] : [...closedDwells, open]),
    undecidedDwellMs: () => undecidedDwellMs(alignment),
    alignment,
  }
}

/** The pass over the rows. */
export type RowPlacer = {
  /** Takes the next reports of the scan in order of time. */
  takeReports(reports: readonly FixReport[]): void
  /** Returns whether a row of this time needs further reports, if there are any. */
  needsReports(tsMs: number): boolean
  /** Returns the row with its position, or the same row if it has that position. Rows are ordered by time. */
  place<Row extends RadioFacts>(row: Row): Row
}

/** Fixes that are dated back over more fixes than this are not used for the age of a fix. */
const maxFixesInReach = 50_000
/** The number of fixes to keep before those that a row needs. */
const fixesBehind = 2
/** Dropping copies the rest, so it happens only for this many fixes. */
const forgetTogether = 256

/** Starts a pass over the rows among the dwells that the pass over the fixes has found. */
export function createRowPlacer(dwells: readonly Dwell[]): RowPlacer {
  const fixes = createNumberList()
  let track = trackOf(fixes, dwells)

  function forgetBefore(tsMs: number): void {
    const needed = fixCount(fixes) > maxFixesInReach ? fixMadeBy(fixes, tsMs) : fixReportedBy(fixes, tsMs)
    const first = needed - fixesBehind
    if (first < forgetTogether) return
    dropFixes(fixes, first)
    track = trackOf(fixes, dwells)
  }

  return {
    takeReports(reports) {
      for (const report of reports) takeFixReport(fixes, report)
      track = trackOf(fixes, dwells)
    },
    needsReports: (tsMs) => fixes.length === 0 || fixTimeMs(fixes, fixCount(fixes) - 1) <= tsMs,
    place(row) {
      forgetBefore(row.tsMs)
      return placeRow(row, alignSample(row, track))
    },
  }
}
