import { alignSample, coverageCells, lastStartedBy, maxInterpolation, placeRow, type Track } from './align.ts'
import { type DistinctFix, type FixReport, isSamePosition, repeatFix, startFix } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import { createDwellDetector, type DwellState, initialDwellState } from './dwell-detector.ts'
import { distanceM } from './geo.ts'
import type { CellularRow } from './rows.ts'

/** Both ends included. */
export type TimeRange = { fromMs: number; toMs: number }

/** Everything alignment remembers of a device: plain JSON data but for the bounds on its size. */
export type DeviceAlignmentState = {
  /** Recent distinct fixes, oldest first; the first may be older than `knownFromMs` and only gives a direction. */
  fixes: DistinctFix[]
  dwell: DwellState
  /** Dwells that ended within the time of `fixes`. */
  closedDwells: Dwell[]
  /** RF rows that what comes next may still place better, oldest first. */
  trailing: Omit<CellularRow, 'h3Res10' | 'h3Res5'>[]
  newestReportMs: number
  /** From here on `fixes` and `closedDwells` are complete. */
  knownFromMs: number
  /** Newest RF row that is not in `trailing` although a fix that comes later may move it. */
  droppedUntilMs: number
  /** Rows of the open dwell have been written, and since then its centre has moved. */
  openDwellRows: 'none' | 'settled' | 'stale'
  /** Location reports from here on came too late to be taken into account; null when none did. */
  staleFromMs: number | null
}

export const initialAlignmentState: DeviceAlignmentState = {
  fixes: [],
  dwell: initialDwellState,
  closedDwells: [],
  trailing: [],
  newestReportMs: 0,
  knownFromMs: 0,
  droppedUntilMs: 0,
  openDwellRows: 'none',
  staleFromMs: null,
}

export type AlignmentStep = {
  /** RF rows to write: the new ones, and earlier ones whose position is known better now. */
  rows: CellularRow[]
  /** Dwells that ended. */
  closed: Dwell[]
  /** The dwell the device is in. */
  open: Dwell | null
  /**
   * Times whose rows have to be aligned again from what is stored, because data came late or because the rows are no
   * longer in memory. Work through them from the last fresh start before to the first one behind (`isFreshStart`).
   */
  dirty: TimeRange[]
}

export type DeviceAlignment = {
  /** Takes the reports and RF rows of one report of the device, each in any order. */
  apply: (reports: readonly FixReport[], samples: readonly CellularRow[]) => AlignmentStep
  /** Rows of the open dwell that carry an earlier centre of it: to be aligned again once the device is quiet. */
  unsettled: () => TimeRange | null
  /** Says that what was unsettled is being aligned again. */
  settled: () => void
  /** The oldest fix in memory. */
  firstFix: () => DistinctFix | undefined
  /** Says that what is not in memory may belong with the fixes from here on: they have to be worked through again. */
  distrust: (fromMs: number) => void
  /** Location reports from here on came too late to be taken into account; null when none did. */
  staleFromMs: () => number | null
  /** Dwells that end or begin with what comes next arrive no earlier than this. */
  undecidedDwellMs: () => number
  /** A copy, to go on from later. */
  state: () => DeviceAlignmentState
}

const maxFixes = 256
const maxFixesMs = 20 * 60_000
/** RF rows a device keeps in memory at most. */
export const maxTrailing = 512
/** Of RF rows in memory, counted with their cells, which are most of a large row. */
const maxTrailingBytes = 1024 * 1024
const rowBytes = 512
const maxTrailingMs = 16 * 60_000
const exactMs = 2000

const byTime = (a: { tsMs: number }, b: { tsMs: number }) => a.tsMs - b.tsMs

/** A row out of a stored state: its cells follow from its position. */
const withCells = (row: DeviceAlignmentState['trailing'][number]): CellularRow => ({ ...row, ...coverageCells(row) })

function withoutCells({
  h3Res10: _res10,
  h3Res5: _res5,
  ...row
}: CellularRow): DeviceAlignmentState['trailing'][number] {
  return row
}

/**
 * Aligns one device's RF rows as they arrive, in bounded memory. Together with aligning the dirty and unsettled ranges
 * again from storage, any order, duplication or delay of arrival ends in the rows that `align` gives for all the data.
 */
export function createDeviceAlignment(
  policy: DwellPolicy,
  initial: DeviceAlignmentState = initialAlignmentState,
): DeviceAlignment {
  let { newestReportMs, knownFromMs, droppedUntilMs, openDwellRows, staleFromMs } = initial
  const detector = createDwellDetector(policy, initial.dwell)
  let fixes = [...initial.fixes]
  let closedDwells = [...initial.closedDwells]
  let trailing = initial.trailing.map(withCells)
  let open = detector.open()

  /** Earliest time whose position the report changes. */
  const takeReport = (report: FixReport, step: AlignmentStep): number => {
    const last = fixes.at(-1)
    if (report.tsMs <= newestReportMs) {
      if (!isKnownRepeat(report))
        staleFromMs = Math.min(staleFromMs ?? report.tsMs, report.fixTs ?? report.tsMs, report.tsMs)
      return Number.POSITIVE_INFINITY
    }
    newestReportMs = report.tsMs
    const wasOpen = detector.openSinceMs() !== null
    let changedFromMs: number
    if (last !== undefined && isSamePosition(last, report)) {
      const fix = repeatFix(last, report)
      fixes[fixes.length - 1] = fix
      detector.takeRepeat(fix)
      changedFromMs = last.lastReportMs
    } else {
      const fix = startFix(report, last)
      fixes.push(fix)
      takeFix(fix, step)
      changedFromMs = canInterpolate(last, fix) ? last.timeMs : fix.timeMs - exactMs
    }
    const openSinceMs = detector.openSinceMs()
    return !wasOpen && openSinceMs !== null ? Math.min(changedFromMs, openSinceMs) : changedFromMs
  }

  const takeFix = (fix: DistinctFix, step: AlignmentStep) => {
    const closed = detector.takeFix(fix)
    if (closed !== null) {
      if (openDwellRows === 'stale') step.dirty.push({ fromMs: closed.arrivedAtMs, toMs: closed.lastInsideAtMs })
      closedDwells.push(closed)
      step.closed.push(closed)
      openDwellRows = 'none'
    } else if (openDwellRows === 'settled') openDwellRows = 'stale'
  }

  /** A report that has been taken before, or that says nothing new: inside the time its fix is known to stand. */
  const isKnownRepeat = (report: FixReport): boolean => {
    const fix = fixes[lastStartedBy(fixes, ({ firstReportMs }) => firstReportMs, report.tsMs)]
    return fix !== undefined && isSamePosition(fix, report) && report.tsMs <= fix.lastReportMs && !fix.gap
  }

  /** Adds rows to those that may change; what is older than the memory is placed once and left to the dirty range. */
  const takeSamples = (samples: readonly CellularRow[], track: Track, step: AlignmentStep): Set<number> => {
    const fresh = new Map<number, CellularRow>()
    for (const row of samples) {
      if (row.tsMs >= knownFromMs) fresh.set(row.tsMs, row)
      else {
        step.rows.push(place(row, track))
        step.dirty.push({ fromMs: row.tsMs, toMs: row.tsMs })
        // A fix that comes later may be dated back to it.
        droppedUntilMs = Math.max(droppedUntilMs, row.tsMs)
      }
    }
    if (fresh.size > 0) {
      trailing = [...trailing.filter(({ tsMs }) => !fresh.has(tsMs)), ...fresh.values()].sort(byTime)
    }
    return new Set(fresh.keys())
  }

  const place = (row: CellularRow, track: Track): CellularRow => {
    const placed = placeRow(row, alignSample(row, track))
    if (isInOpenDwell(placed) && openDwellRows === 'none') openDwellRows = 'settled'
    return placed
  }

  const placeTrailing = (changedFromMs: number, samples: readonly CellularRow[], step: AlignmentStep) => {
    const track = { fixes, dwells: open === null ? closedDwells : [...closedDwells, open] }
    const fresh = takeSamples(samples, track, step)
    trailing = trailing.map((row) => {
      const isFresh = fresh.has(row.tsMs)
      if (!isFresh && row.tsMs < changedFromMs) return row
      const placed = place(row, track)
      if (isFresh || placed !== row) step.rows.push(placed)
      return placed
    })
  }

  const isInOpenDwell = ({ alignment, tsMs }: CellularRow) =>
    alignment === 'dwell' && open !== null && tsMs >= open.arrivedAtMs

  const forget = () => {
    const newestTime = fixes.at(-1)?.timeMs ?? 0
    // Nothing that comes in order can move a row from before this.
    const keepFrom = detector.undecidedFromMs()
    const newestRowMs = trailing.at(-1)?.tsMs ?? 0
    const overflow = trailingOverflow(trailing)
    trailing = trailing.filter(({ tsMs }, index) => {
      if (tsMs < keepFrom) return false
      const isKept = index >= overflow && tsMs >= newestRowMs - maxTrailingMs
      if (!isKept) droppedUntilMs = Math.max(droppedUntilMs, tsMs)
      return isKept
    })
    const firstByAge = fixes.findIndex(({ timeMs }) => timeMs >= newestTime - maxFixesMs)
    const firstNeeded = lastStartedBy(fixes, ({ timeMs }) => timeMs, trailing[0]?.tsMs ?? newestTime)
    // One fix more than the rows need: it gives the curve behind the oldest of them its direction.
    const dropped = Math.max(Math.min(firstByAge, firstNeeded), fixes.length - maxFixes) - 1
    if (dropped <= 0) return
    fixes = fixes.slice(dropped)
    knownFromMs = Math.max(fixes[1]?.firstReportMs ?? 0, knownFromMs)
    closedDwells = closedDwells.filter(({ lastInsideAtMs }) => lastInsideAtMs >= knownFromMs)
    for (let row = trailing[0]; row !== undefined && row.tsMs < knownFromMs; row = trailing[0]) {
      droppedUntilMs = Math.max(droppedUntilMs, row.tsMs)
      trailing.shift()
    }
  }

  return {
    apply: (reports, samples) => {
      const step: AlignmentStep = { rows: [], closed: [], open: null, dirty: [] }
      let changedFromMs = Number.POSITIVE_INFINITY
      for (const report of [...reports].sort(byTime)) changedFromMs = Math.min(changedFromMs, takeReport(report, step))
      if (changedFromMs <= newestReportMs || open === null) open = detector.open()
      if (changedFromMs <= droppedUntilMs) step.dirty.push({ fromMs: changedFromMs, toMs: droppedUntilMs })
      if (open !== null && open.arrivedAtMs <= droppedUntilMs && openDwellRows === 'none') openDwellRows = 'settled'
      placeTrailing(changedFromMs, samples, step)
      if (staleFromMs !== null)
        step.dirty.push({ fromMs: staleFromMs, toMs: Math.max(newestReportMs, trailing.at(-1)?.tsMs ?? 0) })
      forget()
      step.open = open
      return step
    },
    unsettled: () =>
      open !== null && openDwellRows === 'stale' ? { fromMs: open.arrivedAtMs, toMs: open.lastInsideAtMs } : null,
    settled: () => {
      if (openDwellRows === 'stale') openDwellRows = 'settled'
    },
    firstFix: () => fixes[0],
    distrust: (fromMs) => {
      staleFromMs = Math.min(staleFromMs ?? fromMs, fromMs)
    },
    staleFromMs: () => staleFromMs,
    undecidedDwellMs: () => detector.openSinceMs() ?? detector.undecidedFromMs(),
    state: () => ({
      fixes: [...fixes],
      dwell: detector.state(),
      closedDwells: [...closedDwells],
      trailing: trailing.map(withoutCells),
      newestReportMs,
      knownFromMs,
      droppedUntilMs,
      openDwellRows,
      staleFromMs,
    }),
  }
}

/** How many of the oldest rows are too many or make the others too large to keep. */
function trailingOverflow(rows: readonly CellularRow[]): number {
  let bytes = 0
  for (let kept = 0; kept < rows.length; kept++) {
    bytes += rowBytes + (rows[rows.length - 1 - kept]?.cells?.length ?? 0)
    if (kept >= maxTrailing || bytes > maxTrailingBytes) return rows.length - kept
  }
  return 0
}

function canInterpolate(older: DistinctFix | undefined, newer: DistinctFix): older is DistinctFix {
  if (older === undefined) return false
  return newer.timeMs - older.timeMs <= maxInterpolation.ms && distanceM(older, newer) <= maxInterpolation.metres
}
