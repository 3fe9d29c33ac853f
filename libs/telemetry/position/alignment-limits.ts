import type { RadioFacts } from '#telemetry/report/rows'
import { maxModems } from '#telemetry/report/sources'
import type { DeviceAlignment } from './device-alignment.ts'
import { undecidedSinceMs } from './dwell-detector.ts'
import { dropFixes, firstReportMs, fixCount, fixMadeBy, fixTimeMs } from './fix-list.ts'
import { forgetVectors } from './nearby-fixes.ts'

const maxFixes = 256
const maxFixesMs = 20 * 60_000
/** Maximum number of RF rows in memory per modem. */
export const maxTrailing = 512
/** Maximum size of a device's rows. */
const maxTrailingBytes = 1024 * 1024
const factsBytes = 256
const maxTrailingMs = 16 * 60_000
/** Forgets fixes and rows that data in order does not need. */
export function forgetSettled<Row extends RadioFacts>(state: DeviceAlignment<Row>): void {
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
