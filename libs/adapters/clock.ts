import { parseNumber, parseTime } from '#telemetry/report/times'

/** Why times of a report were corrected. Also the label of the counter. */
type ClockFault = 'week_rollover' | 'before_2020' | 'ahead'

export type CorrectedTimes = { reason: ClockFault; count: number }

const dayMs = 86_400_000
/** Receivers count weeks in ten bits, so after 1024 weeks an old one reports a time that was 1024 weeks ago. */
const rolloverMs = 1_024 * 7 * dayMs
const earliestMs = Date.UTC(2020, 0, 1)
const maxAheadMs = 5 * 60_000
/** Samples of one clock follow each other within this time. A larger step is the wrong date of one moment. */
const oneClockMs = 60 * 60_000

/** Returns the time without the rollover of its week; the time itself if it is not 1024 or 2048 weeks old, to the day. */
function withoutRollover(tsMs: number, receivedAtMs: number): number {
  for (const shiftMs of [rolloverMs, 2 * rolloverMs]) {
    if (Math.abs(receivedAtMs - tsMs - shiftMs) <= dayMs) return tsMs + shiftMs
  }
  return tsMs
}

/**
 * Returns a function that undoes the rollover of times of one body. Where one of them is 1024 or 2048 weeks old, so are the days that
 * the receiver has kept before it, which are older than that.
 */
export function rolloversUndone(times: Iterable<number>, receivedAtMs: number): (tsMs: number) => number {
  let ofBodyMs = 0
  for (const tsMs of times) ofBodyMs ||= withoutRollover(tsMs, receivedAtMs) - tsMs
  return (tsMs) => {
    const undoneMs = withoutRollover(tsMs, receivedAtMs)
    const isOfBody = undoneMs === tsMs && tsMs < earliestMs && isPlausible(tsMs + ofBodyMs, receivedAtMs)
    return isOfBody ? tsMs + ofBodyMs : undoneMs
  }
}

const isAhead = (tsMs: number, receivedAtMs: number) => tsMs > receivedAtMs + maxAheadMs

/** Returns whether a router with a right clock can have sent the time. */
export const isPlausible = (tsMs: number, receivedAtMs: number): boolean =>
  tsMs >= earliestMs && !isAhead(tsMs, receivedAtMs)

/** The members of a sample that hold times. */
type TimedSample = { ts?: number; fixTs?: unknown; tsCorrected?: unknown }

type Dated = TimedSample & { ts: number }

/**
 * Corrects the times that only a wrong clock can have sent, in place, and marks these samples. A rollover of the GPS week is
 * undone. If a live report then has times of one clock that cannot be right, all move together, so that the newest is the
 * time of receipt. Otherwise such times stay and are rejected: a wrong date must not move other moments.
 */
export function correctTimes(samples: readonly TimedSample[], receivedAtMs: number, isLive: boolean): CorrectedTimes[] {
  const dated = samples.filter((sample): sample is Dated => sample.ts !== undefined)
  const rolledOver = new Set<TimedSample>()
  const undone = rolloversUndone(
    dated.map(({ ts }) => ts),
    receivedAtMs,
  )
  for (const sample of dated) {
    const undoneMs = undone(sample.ts)
    if (undoneMs === sample.ts) continue
    move(sample, sample.ts, undoneMs)
    rolledOver.add(sample)
  }
  const corrected: CorrectedTimes[] = []
  if (isLive && areOfOneWrongClock(dated, receivedAtMs)) {
    const newestMs = Math.max(...dated.map(({ ts }) => ts))
    for (const sample of dated) move(sample, newestMs, receivedAtMs)
    corrected.push({ reason: newestMs < earliestMs ? 'before_2020' : 'ahead', count: dated.length })
  }
  // The receiver's clock may be wrong when the router's is right.
  for (const sample of samples) if (undoRolloverOfFix(sample, receivedAtMs)) rolledOver.add(sample)
  if (rolledOver.size > 0) corrected.unshift({ reason: 'week_rollover', count: rolledOver.size })
  return corrected
}

/** Returns why a clock is wrong that showed `sentAtMs` when the report was sent. Undefined if the time may be right. */
export function clockFaultOf(sentAtMs: number, receivedAtMs: number): ClockFault | undefined {
  if (withoutRollover(sentAtMs, receivedAtMs) !== sentAtMs) return 'week_rollover'
  if (isPlausible(sentAtMs, receivedAtMs)) return undefined
  return sentAtMs < earliestMs ? 'before_2020' : 'ahead'
}

/** Returns whether the newest time cannot be right, and all others are of the same clock. */
function areOfOneWrongClock(dated: readonly Dated[], receivedAtMs: number): boolean {
  const times = dated.map(({ ts }) => ts).sort((a, b) => a - b)
  const newestMs = times.at(-1)
  if (newestMs === undefined || isPlausible(newestMs, receivedAtMs)) return false
  if (!times.some((ts) => isPlausible(ts, receivedAtMs))) return true
  const firstAhead = times.findIndex((ts) => isAhead(ts, receivedAtMs))
  return (times[firstAhead] ?? 0) - (times[firstAhead - 1] ?? 0) <= oneClockMs
}

/**
 * Moves the time of a sample by what a clock that shows `shownMs` needs to be right at `rightMs`, and that of its fix if it is of
 * the same clock: then it is closer afterwards. Differences of shown times come first, because huge ones are exact only so.
 */
function move(sample: Dated, shownMs: number, rightMs: number): void {
  sample.ts = rightMs - (shownMs - sample.ts)
  sample.tsCorrected = true
  const fixMs = fixTimeOf(sample)
  if (fixMs === null) return
  const movedMs = rightMs - (shownMs - fixMs)
  if (Math.abs(sample.ts - movedMs) < Math.abs(sample.ts - fixMs)) sample.fixTs = movedMs
}

/** Returns false if the time of the fix has no rollover. */
function undoRolloverOfFix(sample: TimedSample, receivedAtMs: number): boolean {
  const fixMs = fixTimeOf(sample)
  if (fixMs === null) return false
  const undoneMs = withoutRollover(fixMs, sample.ts ?? receivedAtMs)
  if (undoneMs === fixMs) return false
  sample.fixTs = undoneMs
  return true
}

/** Routers send the time as a number or as text. */
const fixTimeOf = ({ fixTs }: TimedSample): number | null => parseTime(fixTs) ?? parseNumber(fixTs)
