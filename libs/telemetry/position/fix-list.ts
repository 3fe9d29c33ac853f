import { createNumberList, dropNumbers, type NumberList, reserveNumbers } from '#core/number-list'
import { distanceBetween } from '#telemetry/geo/geo'
import { type DistinctFix, type FixReport, maxSilenceMs } from './distinct-fixes.ts'

/**
 * Distinct fixes of one device, oldest first, as numbers one after another: most of the state of a device, which is kept, copied and
 * searched for each of its reports. `DistinctFix` says what the numbers are. A missing speed or heading is NaN.
 */
export type FixList = NumberList

const fixNumbers = 9
const [latAt, lonAt, timeAt, firstReportAt, lastReportAt, accuracyAt, speedAt, headingAt, gapAt] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8,
]

export const fixCount = ({ length }: FixList): number => length / fixNumbers

const numberAt = ({ numbers }: FixList, fix: number, at: number): number => numbers[fix * fixNumbers + at] as number

export const fixLat = (fixes: FixList, fix: number): number => numberAt(fixes, fix, latAt)
export const fixLon = (fixes: FixList, fix: number): number => numberAt(fixes, fix, lonAt)
export const fixTimeMs = (fixes: FixList, fix: number): number => numberAt(fixes, fix, timeAt)
export const firstReportMs = (fixes: FixList, fix: number): number => numberAt(fixes, fix, firstReportAt)
export const lastReportMs = (fixes: FixList, fix: number): number => numberAt(fixes, fix, lastReportAt)
export const accuracyM = (fixes: FixList, fix: number): number => numberAt(fixes, fix, accuracyAt)
/** NaN without one. */
export const speedMps = (fixes: FixList, fix: number): number => numberAt(fixes, fix, speedAt)
/** NaN without one. */
const headingDeg = (fixes: FixList, fix: number): number => numberAt(fixes, fix, headingAt)
export const hasGap = (fixes: FixList, fix: number): boolean => numberAt(fixes, fix, gapAt) === 1

/** Metres between two fixes. */
export const apartM = (fixes: FixList, one: number, other: number): number =>
  distanceBetween(fixLat(fixes, one), fixLon(fixes, one), fixLat(fixes, other), fixLon(fixes, other))

/** Whether a report repeats the position of a fix. */
export const isAtFix = (fixes: FixList, fix: number, { lat, lon }: { lat: number; lon: number }): boolean =>
  fixLat(fixes, fix) === lat && fixLon(fixes, fix) === lon

/** Appends what `startFix` returns. */
function pushFix(fixes: FixList, report: FixReport): void {
  const { tsMs, fixTs } = report
  const last = fixCount(fixes) - 1
  const claimedMs = Math.min(fixTs ?? tsMs, tsMs)
  reserveNumbers(fixes, fixNumbers)
  const { numbers, length } = fixes
  numbers[length + latAt] = report.lat
  numbers[length + lonAt] = report.lon
  numbers[length + timeAt] = last < 0 ? claimedMs : Math.max(claimedMs, fixTimeMs(fixes, last))
  numbers[length + firstReportAt] = tsMs
  numbers[length + lastReportAt] = tsMs
  numbers[length + accuracyAt] = report.accuracyM
  numbers[length + speedAt] = report.speedMps ?? Number.NaN
  numbers[length + headingAt] = report.headingDeg ?? Number.NaN
  numbers[length + gapAt] = 0
  fixes.length = length + fixNumbers
}

/** Extends the newest fix by one more report, as `repeatFix` does. */
function repeatNewestFix(fixes: FixList, tsMs: number): void {
  const { numbers, length } = fixes
  const at = length - fixNumbers
  if (tsMs - (numbers[at + lastReportAt] as number) > maxSilenceMs) numbers[at + gapAt] = 1
  numbers[at + lastReportAt] = tsMs
}

/** Takes the next report: a repetition of the newest fix or a new one. */
export function takeFixReport(fixes: FixList, report: FixReport): 'new' | 'repeated' {
  if (fixes.length > 0 && isAtFix(fixes, fixCount(fixes) - 1, report)) {
    repeatNewestFix(fixes, report.tsMs)
    return 'repeated'
  }
  pushFix(fixes, report)
  return 'new'
}

export const dropFixes = (fixes: FixList, count: number): void => dropNumbers(fixes, count * fixNumbers)

/** Index of the last fix whose number is at most this; −1 if there is none. The numbers never decrease. */
function lastUpTo(fixes: FixList, at: number, most: number): number {
  let low = 0
  let high = fixCount(fixes)
  while (low < high) {
    const middle = (low + high) >> 1
    if (numberAt(fixes, middle, at) <= most) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Index of the newest fix that was made at or before this time; −1 if there is none. */
export const fixMadeBy = (fixes: FixList, tsMs: number): number => lastUpTo(fixes, timeAt, tsMs)

/** Index of the newest fix that was first reported at or before this time; −1 if there is none. */
export const fixReportedBy = (fixes: FixList, tsMs: number): number => lastUpTo(fixes, firstReportAt, tsMs)

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value)

export const fixOf = (fixes: FixList, fix: number): DistinctFix => ({
  lat: fixLat(fixes, fix),
  lon: fixLon(fixes, fix),
  timeMs: fixTimeMs(fixes, fix),
  firstReportMs: firstReportMs(fixes, fix),
  lastReportMs: lastReportMs(fixes, fix),
  accuracyM: accuracyM(fixes, fix),
  speedMps: orNull(speedMps(fixes, fix)),
  headingDeg: orNull(headingDeg(fixes, fix)),
  gap: hasGap(fixes, fix),
})

export function fixListOf(distinct: readonly DistinctFix[]): FixList {
  const fixes = createNumberList()
  reserveNumbers(fixes, distinct.length * fixNumbers)
  for (const fix of distinct) {
    const { lat, lon, timeMs, firstReportMs: firstMs, lastReportMs: lastMs } = fix
    const motion = [fix.accuracyM, fix.speedMps ?? Number.NaN, fix.headingDeg ?? Number.NaN, fix.gap ? 1 : 0]
    fixes.numbers.set([lat, lon, timeMs, firstMs, lastMs, ...motion], fixes.length)
    fixes.length += fixNumbers
  }
  return fixes
}
