import { distanceM } from '#telemetry/geo/geo'
import type { RadioFacts } from '#telemetry/report/rows'
import { byTimeAndModem, maxModems, radioKey } from '#telemetry/report/sources'
import { alignSample, lastStartedBy, maxInterpolation, placeRow, type Track } from './align.ts'
import { type DistinctFix, type FixReport, isSamePosition, repeatFix, startFix } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import { createDwellDetector, type DwellState, initialDwellState } from './dwell-detector.ts'

/** Both ends included. */
export type TimeRange = { fromMs: number; toMs: number }

/** The state of a device's alignment: plain data of limited size. */
export type DeviceAlignmentState<Row extends RadioFacts = RadioFacts> = {
  /** Recent distinct fixes, oldest first. The first may be older than `knownFromMs` and then only gives a direction. */
  fixes: DistinctFix[]
  dwell: DwellState
  /** Dwells that ended within the time of `fixes`. */
  closedDwells: Dwell[]
  /** RF rows of all modems that later data may still move, oldest first. */
  trailing: Row[]
  newestReportMs: number
  /** From this time on, `fixes` and `closedDwells` are complete. */
  knownFromMs: number
  /** Newest RF row that is not in `trailing` although a later fix may move it. */
  droppedUntilMs: number
  /** Whether rows of the open dwell were written, and whether its centre has moved since. */
  openDwellRows: 'none' | 'settled' | 'stale'
  /** Location reports from this time on arrived too late to be included. Null if none did. */
  staleFromMs: number | null
}

export const initialAlignmentState: DeviceAlignmentState<never> = {
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

export type DeviceAlignment<Row extends RadioFacts = RadioFacts> = {
  /** Takes the reports and RF rows of one report of the device, each in any order. */
  apply: (reports: readonly FixReport[], samples: readonly Row[]) => AlignmentStep<Row>
  /** Returns the times of rows with an earlier centre of the open dwell. Realign them when the device is quiet. */
  unsettled: () => TimeRange | null
  /** Marks the unsettled rows as being realigned. */
  settled: () => void
  /** Assumes that rows of the open dwell were written with an earlier centre. */
  distrustOpenDwell: () => void
  /** The oldest fix in memory. */
  firstFix: () => DistinctFix | undefined
  /** The fix in memory that was reported last at or before this time. */
  fixAt: (tsMs: number) => DistinctFix | undefined
  /** Marks the fixes from this time on for a rebuild, because older data may affect them. */
  distrust: (fromMs: number) => void
  /** Location reports from this time on arrived too late to be included. Null if none did. */
  staleFromMs: () => number | null
  /** Returns the earliest arrival of dwells that later data can begin or end. */
  undecidedDwellMs: () => number
  /** Returns a copy of the state. */
  state: () => DeviceAlignmentState<Row>
}

const maxFixes = 256
const maxFixesMs = 20 * 60_000
/** Maximum number of RF rows in memory per modem. */
export const maxTrailing = 512
/** Maximum size of a device's rows. */
const maxTrailingBytes = 1024 * 1024
const factsBytes = 256
const maxTrailingMs = 16 * 60_000
const exactMs = 2000

const byTime = (a: { tsMs: number }, b: { tsMs: number }) => a.tsMs - b.tsMs

/**
 * Aligns one device's RF rows as they arrive, in bounded memory. After the dirty and unsettled ranges are realigned from
 * storage, the rows are those of `align` for all data, whatever the order, duplication or delay of arrival.
 */
// Long because each part reads and changes the same fixes, trailing rows and dwell.
export function createDeviceAlignment<Row extends RadioFacts = RadioFacts>(
  policy: DwellPolicy,
  initial: DeviceAlignmentState<Row> = initialAlignmentState,
): DeviceAlignment<Row> {
  let { newestReportMs, knownFromMs, droppedUntilMs, openDwellRows, staleFromMs } = initial
  const detector = createDwellDetector(policy, initial.dwell)
  let fixes = [...initial.fixes]
  let closedDwells = [...initial.closedDwells]
  let trailing = [...initial.trailing]
  let open = detector.open()

  /** Returns the earliest time whose position the report changes. */
  const takeReport = (report: FixReport, step: AlignmentStep<Row>): number => {
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

  const takeFix = (fix: DistinctFix, step: AlignmentStep<Row>) => {
    const closed = detector.takeFix(fix)
    if (closed !== null) {
      if (openDwellRows === 'stale') step.dirty.push({ fromMs: closed.arrivedAtMs, toMs: closed.lastInsideAtMs })
      closedDwells.push(closed)
      step.closed.push(closed)
      openDwellRows = 'none'
    } else if (openDwellRows === 'settled') openDwellRows = 'stale'
  }

  const fixAt = (tsMs: number) => fixes[lastStartedBy(fixes, ({ firstReportMs }) => firstReportMs, tsMs)]

  /** Returns whether the report is a repetition or adds nothing to the time of its fix. */
  const isKnownRepeat = (report: FixReport): boolean => {
    const fix = fixAt(report.tsMs)
    return fix !== undefined && isSamePosition(fix, report) && report.tsMs <= fix.lastReportMs && !fix.gap
  }

  /** Adds rows that may still move. Rows older than the memory are placed once and left to the dirty range. */
  const takeSamples = (
    samples: readonly Row[],
    track: Track,
    step: AlignmentStep<Row>,
  ): ReadonlyMap<number | string, Row> => {
    const fresh = new Map<number | string, Row>()
    for (const row of samples) {
      if (row.tsMs >= knownFromMs) fresh.set(radioKey(row), row)
      else {
        step.rows.push(place(row, track))
        step.dirty.push({ fromMs: row.tsMs, toMs: row.tsMs })
        // A later fix may be dated back to this time.
        droppedUntilMs = Math.max(droppedUntilMs, row.tsMs)
      }
    }
    if (fresh.size > 0) {
      trailing = [...trailing.filter((row) => !fresh.has(radioKey(row))), ...fresh.values()].sort(byTimeAndModem)
    }
    return fresh
  }

  const place = (row: Row, track: Track): Row => {
    const placed = placeRow(row, alignSample(row, track))
    if (isInOpenDwell(placed) && openDwellRows === 'none') openDwellRows = 'settled'
    return placed
  }

  const placeTrailing = (changedFromMs: number, samples: readonly Row[], step: AlignmentStep<Row>) => {
    const track = { fixes, dwells: open === null ? closedDwells : [...closedDwells, open] }
    const fresh = takeSamples(samples, track, step)
    trailing = trailing.map((row) => {
      const isFresh = fresh.has(radioKey(row))
      if (!isFresh && row.tsMs < changedFromMs) return row
      const placed = place(row, track)
      if (!isFresh && placed !== row && isInOpenDwell(row) && isInOpenDwell(placed)) {
        // Only the centre has moved. It moves with each fix, so all rows of the dwell get the final one together.
        openDwellRows = 'stale'
        return row
      }
      if (isFresh || placed !== row) step.rows.push(placed)
      return placed
    })
  }

  const isInOpenDwell = ({ alignment, tsMs }: Row) => alignment === 'dwell' && open !== null && tsMs >= open.arrivedAtMs

  const forget = () => {
    const newestTime = fixes.at(-1)?.timeMs ?? 0
    // Data that arrives in order cannot move rows before this time.
    const keepFrom = detector.undecidedFromMs()
    const newestRowMs = trailing.at(-1)?.tsMs ?? 0
    const overflow = overflowing(trailing)
    trailing = trailing.filter((row) => {
      const { tsMs } = row
      if (tsMs < keepFrom) return false
      const isKept = !overflow.has(row) && tsMs >= newestRowMs - maxTrailingMs
      if (!isKept) droppedUntilMs = Math.max(droppedUntilMs, tsMs)
      return isKept
    })
    const firstByAge = fixes.findIndex(({ timeMs }) => timeMs >= newestTime - maxFixesMs)
    const firstNeeded = lastStartedBy(fixes, ({ timeMs }) => timeMs, trailing[0]?.tsMs ?? newestTime)
    // Keep one more fix than the rows need: it gives the direction of the curve after the oldest fix.
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
      const step: AlignmentStep<Row> = { rows: [], closed: [], open: null, dirty: [] }
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
    distrustOpenDwell: () => {
      if (open !== null) openDwellRows = 'stale'
    },
    firstFix: () => fixes[0],
    fixAt,
    distrust: (fromMs) => {
      staleFromMs = Math.min(staleFromMs ?? fromMs, fromMs)
    },
    staleFromMs: () => staleFromMs,
    undecidedDwellMs: () => detector.openSinceMs() ?? detector.undecidedFromMs(),
    state: () => ({
      fixes: [...fixes],
      dwell: detector.state(),
      closedDwells: [...closedDwells],
      trailing: [...trailing],
      newestReportMs,
      knownFromMs,
      droppedUntilMs,
      openDwellRows,
      staleFromMs,
    }),
  }
}

const none: ReadonlySet<never> = new Set()

/** Most devices have one modem and few rows. */
function isWithinLimits(rows: readonly RadioFacts[]): boolean {
  // Not even the largest cells take much.
  if (rows.length <= maxModems) return true
  let bytes = 0
  for (const { restBytes = 0, modem } of rows) {
    bytes += factsBytes + restBytes
    if (modem !== rows[0]?.modem) return false
  }
  return rows.length <= maxTrailing && bytes <= maxTrailingBytes
}

/**
 * Returns the rows that exceed the limits: on the number of a modem's rows, on their size together, and on the number of modems,
 * of which the ones with the newest rows are kept. A modem with many rows does not displace those of another.
 */
function overflowing<Row extends RadioFacts>(rows: readonly Row[]): ReadonlySet<Row> {
  if (isWithinLimits(rows)) return none
  const overflow = new Set<Row>()
  const kept = new Map<string | null, number>()
  let bytes = 0
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index] as Row
    const ofModem = kept.get(row.modem) ?? 0
    bytes += factsBytes + (row.restBytes ?? 0)
    if (ofModem >= maxTrailing || bytes > maxTrailingBytes || (ofModem === 0 && kept.size >= maxModems))
      overflow.add(row)
    else kept.set(row.modem, ofModem + 1)
  }
  return overflow
}

function canInterpolate(older: DistinctFix | undefined, newer: DistinctFix): older is DistinctFix {
  if (older === undefined) return false
  return newer.timeMs - older.timeMs <= maxInterpolation.ms && distanceM(older, newer) <= maxInterpolation.metres
}
