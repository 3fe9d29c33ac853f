import { maxDirectionAgeMs } from './curve.ts'
import { type FixReport, isSamePosition } from './distinct-fixes.ts'
import { type DwellPolicy, isFreshStart } from './dwell.ts'

/**
 * Where a realignment begins: the first report it needs, and the first time with correct rows. The reports in between are
 * those of the fix before the start, which gives the curve its direction, and of the fixes that determine its time.
 */
export type RealignStart = { reportsFromMs: number; rowsFromMs: number }

/** The search backwards for the start. */
export type StartSearch = {
  /** Takes the next older reports, newest first. Returns the last fresh start once it is certain. */
  take(newestFirst: readonly FixReport[]): RealignStart | undefined
  /** Returns the last fresh start if the device has no older reports. Undefined if there is none. */
  atBeginning(): RealignStart | undefined
  /** Returns the oldest start so far with correct fixes, but not dwells, for use if older reports are not read. */
  oldestOfFixes(): RealignStart | undefined
}

/** The first report of a distinct fix that was made after all reports before it: its time depends on none of them. */
type Beginning = { timeMs: number; isFresh: boolean }

/** Starts a backwards search from a dirty range, among the reports before it. */
export function createStartSearch(policy: DwellPolicy): StartSearch {
  let oldest: FixReport | undefined
  /** First report of the oldest distinct fix whose first report is known. */
  let reportsFromMs = Number.POSITIVE_INFINITY
  /** Newest first; a fix that is old enough to give no direction has not been reached yet. */
  let undecided: Beginning[] = []
  let oldestOfFixes: RealignStart | undefined

  function takeReport(report: FixReport): RealignStart | undefined {
    const next = oldest
    oldest = report
    if (next !== undefined && !isSamePosition(report, next)) {
      reportsFromMs = next.tsMs
      // A fix dated back into the time of the previous one cannot be a start: rows of that time need both.
      const timeMs = Math.min(next.fixTs ?? next.tsMs, next.tsMs)
      if (timeMs > report.tsMs) undecided.push({ timeMs, isFresh: isFreshStart(report, next, policy) })
    }
    // The fix of this report, and all before it, are too old to give a direction to these.
    const decided = undecided.filter(({ timeMs }) => report.tsMs < timeMs - maxDirectionAgeMs)
    if (decided.length === 0) return undefined
    undecided = undecided.slice(decided.length)
    oldestOfFixes = { reportsFromMs, rowsFromMs: decided[decided.length - 1]?.timeMs ?? 0 }
    const fresh = decided.find(({ isFresh }) => isFresh)
    return fresh && { reportsFromMs, rowsFromMs: fresh.timeMs }
  }

  return {
    take(newestFirst) {
      for (const report of newestFirst) {
        const start = takeReport(report)
        if (start !== undefined) return start
      }
      return undefined
    },
    atBeginning() {
      const fresh = undecided.find(({ isFresh }) => isFresh)
      return fresh && oldest && { reportsFromMs: oldest.tsMs, rowsFromMs: fresh.timeMs }
    },
    oldestOfFixes: () => oldestOfFixes,
  }
}
