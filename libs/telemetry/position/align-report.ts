import type { RadioFacts } from '#telemetry/report/rows'
import { byTimeAndModem, radioKey } from '#telemetry/report/sources'
import { alignSample, maxInterpolation, placeRow, type Track, trackOf } from './align.ts'
import { forgetSettled } from './alignment-limits.ts'
import type { DeviceAlignment, TimeRange } from './device-alignment.ts'
import type { FixReport } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import { type DwellState, openDwell, takeReport } from './dwell-detector.ts'
import { apartM, type FixList, fixCount, fixReportedBy, fixTimeMs, hasGap, isAtFix, lastReportMs } from './fix-list.ts'
import { forgetVectors } from './nearby-fixes.ts'

type AlignmentStep<Row> = {
  /** RF rows to write: new rows, and earlier rows with a better position. */
  rows: Row[]
  /** Dwells that ended. */
  closed: Dwell[]
  /** The current dwell of the device. */
  open: Dwell | null
  /**
   * Times whose rows must be aligned again from storage, because data arrived late or the rows are no longer in memory.
   * Realign each from the last fresh start before it to the first one after it (`isFreshStart`).
   */
  dirty: TimeRange[]
}

const exactMs = 2000

const byTime = (a: { tsMs: number }, b: { tsMs: number }) => a.tsMs - b.tsMs

/**
 * Aligns one device's RF rows as they arrive, in bounded memory: takes the reports and RF rows of one report of the device, each in any
 * order. After the dirty and unsettled ranges are realigned from storage, the rows are those of `align` for all data,
 * whatever the order, duplication or delay of arrival.
 */
export function alignReport<Row extends RadioFacts>(
  state: DeviceAlignment<Row>,
  policy: DwellPolicy,
  reports: readonly FixReport[],
  samples: readonly Row[],
): AlignmentStep<Row> {
  const step: AlignmentStep<Row> = { rows: [], closed: [], open: null, dirty: [] }
  const { dwell, fixes } = state
  forgetVectors()
  let changedFromMs = Number.POSITIVE_INFINITY
  for (const report of reports.length > 1 ? [...reports].sort(byTime) : reports)
    changedFromMs = Math.min(changedFromMs, takeLocation(state, policy, report, step))
  step.open = openDwell(dwell, fixes)
  if (changedFromMs <= state.droppedUntilMs) step.dirty.push({ fromMs: changedFromMs, toMs: state.droppedUntilMs })
  if (dwell.isOpen && dwell.arrivedAtMs <= state.droppedUntilMs && state.openDwellRows === 'none')
    state.openDwellRows = 'settled'
  placeRows(state, changedFromMs, samples, step)
  if (state.staleFromMs !== null)
    step.dirty.push({
      fromMs: state.staleFromMs,
      toMs: Math.max(state.newestReportMs, state.trailing.at(-1)?.tsMs ?? 0),
    })
  forgetSettled(state)
  return step
}

/** Returns the earliest time whose position the report changes. */
function takeLocation<Row extends RadioFacts>(
  state: DeviceAlignment<Row>,
  policy: DwellPolicy,
  report: FixReport,
  step: AlignmentStep<Row>,
): number {
  const { dwell, fixes } = state
  if (report.tsMs <= state.newestReportMs) {
    if (!isKnownRepeat(fixes, report))
      state.staleFromMs = Math.min(state.staleFromMs ?? report.tsMs, report.fixTs ?? report.tsMs, report.tsMs)
    return Number.POSITIVE_INFINITY
  }
  state.newestReportMs = report.tsMs
  const wasOpen = dwell.isOpen
  const last = fixCount(fixes) - 1
  const lastMs = last < 0 ? 0 : lastReportMs(fixes, last)
  const closed = takeReport(dwell, fixes, policy, report)
  const newest = fixCount(fixes) - 1
  if (closed !== null) {
    if (state.openDwellRows === 'stale') step.dirty.push({ fromMs: closed.arrivedAtMs, toMs: closed.lastInsideAtMs })
    state.closedDwells.push(closed)
    step.closed.push(closed)
    state.openDwellRows = 'none'
  } else if (newest > last && state.openDwellRows === 'settled') state.openDwellRows = 'stale'
  const changedFromMs = newest === last ? lastMs : changedByFix(fixes, newest)
  return !wasOpen && dwell.isOpen ? Math.min(changedFromMs, dwell.arrivedAtMs) : changedFromMs
}

function changedByFix(fixes: FixList, fix: number): number {
  const timeMs = fixTimeMs(fixes, fix)
  if (fix === 0) return timeMs - exactMs
  const beforeMs = fixTimeMs(fixes, fix - 1)
  const canInterpolate =
    timeMs - beforeMs <= maxInterpolation.ms && apartM(fixes, fix - 1, fix) <= maxInterpolation.metres
  return canInterpolate ? beforeMs : timeMs - exactMs
}

/** Returns whether the report is a repetition or adds nothing to the time of its fix. */
function isKnownRepeat(fixes: FixList, report: FixReport): boolean {
  const fix = fixReportedBy(fixes, report.tsMs)
  return fix >= 0 && isAtFix(fixes, fix, report) && report.tsMs <= lastReportMs(fixes, fix) && !hasGap(fixes, fix)
}

const isInOpenDwell = ({ alignment, tsMs }: RadioFacts, { isOpen, arrivedAtMs }: DwellState): boolean =>
  alignment === 'dwell' && isOpen && tsMs >= arrivedAtMs

function place<Row extends RadioFacts>(state: DeviceAlignment<Row>, row: Row, track: Track): Row {
  const placed = placeRow(row, alignSample(row, track))
  if (state.openDwellRows === 'none' && isInOpenDwell(placed, state.dwell)) state.openDwellRows = 'settled'
  return placed
}

/** The rows of a report among the trailing rows: all from an index on, or, if they came late or again, these. */
type FreshRows<Row> = { from: number; only: ReadonlySet<Row> | undefined }

/** Places the new rows, and again those that the fixes have moved. */
function placeRows<Row extends RadioFacts>(
  state: DeviceAlignment<Row>,
  changedFromMs: number,
  samples: readonly Row[],
  step: AlignmentStep<Row>,
): void {
  const { fixes, closedDwells, dwell } = state
  const track = trackOf(fixes, step.open === null ? closedDwells : [...closedDwells, step.open])
  const fresh = takeSamples(state, samples, track, step)
  const { trailing } = state
  let from = fresh.from
  while (from > 0 && (trailing[from - 1] as Row).tsMs >= changedFromMs) from--
  for (let at = from; at < trailing.length; at++) {
    const row = trailing[at] as Row
    const isFresh = at >= fresh.from && (fresh.only === undefined || fresh.only.has(row))
    if (!isFresh && row.tsMs < changedFromMs) continue
    const placed = place(state, row, track)
    if (!isFresh && placed !== row && isInOpenDwell(row, dwell) && isInOpenDwell(placed, dwell)) {
      // Only the centre has moved. It moves with each fix, so all rows of the dwell get the final one together.
      state.openDwellRows = 'stale'
      continue
    }
    if (isFresh || placed !== row) step.rows.push(placed)
    trailing[at] = placed
  }
}

/** Adds rows that may still move. Rows older than the memory are placed once and left to the dirty range. */
function takeSamples<Row extends RadioFacts>(
  state: DeviceAlignment<Row>,
  samples: readonly Row[],
  track: Track,
  step: AlignmentStep<Row>,
): FreshRows<Row> {
  const { trailing, knownFromMs } = state
  const fresh: Row[] = []
  for (const row of samples) {
    if (row.tsMs >= knownFromMs) fresh.push(row)
    else {
      step.rows.push(place(state, row, track))
      step.dirty.push({ fromMs: row.tsMs, toMs: row.tsMs })
      // A later fix may be dated back to this time.
      state.droppedUntilMs = Math.max(state.droppedUntilMs, row.tsMs)
    }
  }
  const from = trailing.length
  if (areNew(fresh, trailing.at(-1))) {
    for (const row of fresh) trailing.push(row)
    return { from, only: undefined }
  }
  const byKey = new Map(fresh.map((row) => [radioKey(row), row]))
  const earlier = trailing.filter((row) => !byKey.has(radioKey(row)))
  state.trailing = [...earlier, ...byKey.values()].sort(byTimeAndModem)
  return { from: 0, only: new Set(byKey.values()) }
}

/** Whether rows are in order and newer than this one, as those of most reports are. */
function areNew(rows: readonly RadioFacts[], last: RadioFacts | undefined): boolean {
  let before = last
  for (const row of rows) {
    if (before !== undefined && byTimeAndModem(before, row) >= 0) return false
    before = row
  }
  return true
}
