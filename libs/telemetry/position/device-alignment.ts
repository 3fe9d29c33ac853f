import { copyNumbers, createNumberList } from '#core/number-list'
import type { RadioFacts } from '#telemetry/report/rows'
import { byTimeAndModem, maxModems, radioKey } from '#telemetry/report/sources'
import { alignSample, maxInterpolation, placeRow, type Track, trackOf } from './align.ts'
import type { FixReport } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import {
  copyDwellState,
  createDwellState,
  type DwellState,
  openDwell,
  takeReport,
  undecidedSinceMs,
} from './dwell-detector.ts'
import {
  apartM,
  dropFixes,
  type FixList,
  firstReportMs,
  fixCount,
  fixMadeBy,
  fixReportedBy,
  fixTimeMs,
  hasGap,
  isAtFix,
  lastReportMs,
} from './fix-list.ts'
import { forgetVectors } from './nearby-fixes.ts'

/** Both ends included. */
export type TimeRange = { fromMs: number; toMs: number }

/** The state of a device's alignment: plain data of limited size. Only the functions of this module change it. */
export type DeviceAlignment<Row extends RadioFacts = RadioFacts> = {
  /** Recent distinct fixes, oldest first. The first may be older than `knownFromMs` and then only gives a direction. */
  fixes: FixList
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
  openDwellRows: (typeof openDwellRows)[number]
  /** Location reports from this time on arrived too late to be included. Null if none did. */
  staleFromMs: number | null
}

export const openDwellRows = ['none', 'settled', 'stale'] as const

/** `knownFromMs`: fixes and rows from before are not in memory. */
export const createDeviceAlignment = <Row extends RadioFacts = RadioFacts>(knownFromMs = 0): DeviceAlignment<Row> => ({
  fixes: createNumberList(),
  dwell: createDwellState(),
  closedDwells: [],
  trailing: [],
  newestReportMs: 0,
  knownFromMs,
  droppedUntilMs: 0,
  openDwellRows: 'none',
  staleFromMs: null,
})

/** Makes `to` equal to `from`, with these rows. */
export function copyAlignment<Row extends RadioFacts>(
  from: Omit<DeviceAlignment, 'trailing'>,
  to: DeviceAlignment<Row>,
  trailing: Row[],
): void {
  const { fixes, dwell } = to
  Object.assign(to, from, { fixes, dwell, closedDwells: [...from.closedDwells], trailing })
  copyDwellState(from.dwell, dwell)
  copyNumbers(from.fixes, fixes)
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
  forget(state)
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
    if (before !== undefined && row.tsMs <= before.tsMs) return false
    before = row
  }
  return true
}

/** Forgets fixes and rows that data in order does not need. */
function forget<Row extends RadioFacts>(state: DeviceAlignment<Row>): void {
  const { fixes, dwell } = state
  forgetRows(state)
  const { trailing } = state
  const count = fixCount(fixes)
  const newestMs = count > 0 ? fixTimeMs(fixes, count - 1) : 0
  let firstByAge = 0
  while (firstByAge < count && fixTimeMs(fixes, firstByAge) < newestMs - maxFixesMs) firstByAge++
  const firstNeeded = fixMadeBy(fixes, trailing[0]?.tsMs ?? newestMs)
  const enough = Math.max(Math.min(firstByAge, firstNeeded), count - maxFixes)
  // Keep one more fix than the rows and a dwell that may begin need: it gives the direction of the curve after the oldest fix.
  const dropped = Math.min(enough, dwell.pendingFrom) - 1
  if (dropped <= 0) return
  dropFixes(fixes, dropped)
  forgetVectors()
  dwell.pendingFrom -= dropped
  state.knownFromMs = Math.max(fixCount(fixes) > 1 ? firstReportMs(fixes, 1) : 0, state.knownFromMs)
  state.closedDwells = state.closedDwells.filter(({ lastInsideAtMs }) => lastInsideAtMs >= state.knownFromMs)
  dropRows(state, ({ tsMs }) => tsMs < state.knownFromMs)
}

function forgetRows<Row extends RadioFacts>(state: DeviceAlignment<Row>): void {
  // Data that arrives in order cannot move rows before this time.
  const keepFromMs = undecidedSinceMs(state.dwell, state.fixes)
  const { trailing } = state
  let settled = 0
  while (settled < trailing.length && (trailing[settled] as Row).tsMs < keepFromMs) settled++
  if (settled > 0) trailing.splice(0, settled)
  const newestMs = trailing.at(-1)?.tsMs ?? 0
  dropRows(state, ({ tsMs }) => tsMs < newestMs - maxTrailingMs)
  const overflow = overflowing(trailing)
  if (overflow.size === 0) return
  for (const { tsMs } of overflow) state.droppedUntilMs = Math.max(state.droppedUntilMs, tsMs)
  state.trailing = trailing.filter((row) => !overflow.has(row))
}

/** Drops the oldest rows, as long as they are too old, although a fix may move them. */
function dropRows<Row extends RadioFacts>(state: DeviceAlignment<Row>, isTooOld: (row: Row) => boolean): void {
  const { trailing } = state
  let dropped = 0
  for (; dropped < trailing.length && isTooOld(trailing[dropped] as Row); dropped++)
    state.droppedUntilMs = Math.max(state.droppedUntilMs, (trailing[dropped] as Row).tsMs)
  if (dropped > 0) trailing.splice(0, dropped)
}

/** Returns the times of rows with an earlier centre of the open dwell. Realign them when the device is quiet. */
export const unsettledRows = ({ dwell, fixes, openDwellRows: rows }: DeviceAlignment): TimeRange | null =>
  dwell.isOpen && rows === 'stale'
    ? { fromMs: dwell.arrivedAtMs, toMs: lastReportMs(fixes, fixCount(fixes) - 1) }
    : null

/** Marks the unsettled rows as being realigned. */
export function noteSettled(state: DeviceAlignment): void {
  if (state.openDwellRows === 'stale') state.openDwellRows = 'settled'
}

/** Assumes that rows of the open dwell were written with an earlier centre. */
export function distrustOpenDwell(state: DeviceAlignment): void {
  if (state.dwell.isOpen) state.openDwellRows = 'stale'
}

/** Marks the fixes from this time on for a rebuild, because older data may affect them. */
export function distrust(state: DeviceAlignment, fromMs: number): void {
  state.staleFromMs = Math.min(state.staleFromMs ?? fromMs, fromMs)
}

/** Returns the earliest arrival of dwells that later data can begin or end. */
export const undecidedDwellMs = ({ dwell, fixes }: DeviceAlignment): number =>
  dwell.isOpen ? dwell.arrivedAtMs : undecidedSinceMs(dwell, fixes)

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
