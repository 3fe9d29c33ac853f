import { copyNumbers, createNumberList } from '#core/number-list'
import type { RadioFacts } from '#telemetry/report/rows'
import type { Dwell } from './dwell.ts'
import { copyDwellState, createDwellState, type DwellState, undecidedSinceMs } from './dwell-detector.ts'
import { type FixList, fixCount, lastReportMs } from './fix-list.ts'

/** Both ends included. */
export type TimeRange = { fromMs: number; toMs: number }

/** The state of a device's alignment: plain data of limited size. `alignReport` changes it. */
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
