import { latLngToCell } from 'h3-js'
import { type CellSides, isWellInside, sidesOf } from '#telemetry/geo/cell-sides'
import { distanceM } from '#telemetry/geo/geo'
import type { AlignedPosition, CoverageCells, RadioFacts } from '#telemetry/report/rows'
import { fixAccuracyM, isUsableFix } from '#telemetry/report/usable'
import { maxCurveMs, pointOnCurve } from './curve.ts'
import { type DistinctFix, distinctFixes, type FixReport } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import { detectDwells } from './dwell-detector.ts'

/** Fixes further apart than this are not interpolated. */
export const maxInterpolation = { metres: 300, ms: 15 * 60_000 }
const exactMs = 2000
const heldMs = 10_000
const maxHeldSpeedMps = 15
/** Speed that is assumed for a fix without one. */
const assumedSpeedMps = 15
/** A receiver that reports every 100 m may be this far from the only fix of a dwell. */
const singleFixDwellErrorM = 50

/** Half the mean edge of a resolution-10 cell. Rows with a larger error do not count towards coverage. */
const maxCoverageErrorM = 37.9

/** A device's positions over time: fixes in order of time, dwells in order of arrival. */
export type Track = { fixes: readonly DistinctFix[]; dwells: readonly Dwell[] }

const nowhere: AlignedPosition = {
  alignedLat: null,
  alignedLon: null,
  alignment: 'none',
  alignErrorM: null,
  alignedFixAgeMs: null,
}

const noCells: CoverageCells = { h3Res10: null, h3Res5: null }

/** Returns the index of the last entry that starts at or before `tsMs`. −1 if all start later. */
export function lastStartedBy<Entry>(
  entries: readonly Entry[],
  startMs: (entry: Entry) => number,
  tsMs: number,
): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    const entry = entries[middle]
    if (entry !== undefined && startMs(entry) <= tsMs) low = middle + 1
    else high = middle
  }
  return low - 1
}

const fixTime = ({ timeMs }: DistinctFix) => timeMs
const firstReport = ({ firstReportMs }: DistinctFix) => firstReportMs
const lastInside = ({ lastInsideAtMs }: Dwell) => lastInsideAtMs
const speedOf = ({ speedMps }: DistinctFix) => speedMps ?? assumedSpeedMps

/** Uses the position that the router sent with the sample. */
function stampedPosition(row: RadioFacts): AlignedPosition | null {
  const { lat, lon, fixAgeMs } = row
  if (!isUsableFix(row)) return null
  const errorM = (assumedSpeedMps * (fixAgeMs ?? 0)) / 1000
  return {
    alignedLat: lat,
    alignedLon: lon,
    alignment: 'device',
    alignErrorM: Math.hypot(fixAccuracyM({ accuracyM: row.accuracyM, hdop: null }), errorM),
    alignedFixAgeMs: fixAgeMs,
  }
}

/**
 * If receivers date fixes back, a dwell can begin before the previous one ends; the earlier dwell then keeps that time.
 * Starts and ends of dwells never decrease, so the first dwell that ends at or after the time is the earliest candidate.
 */
function dwellAt(tsMs: number, dwells: readonly Dwell[]): Dwell | undefined {
  const dwell = dwells[lastStartedBy(dwells, lastInside, tsMs - 1) + 1]
  return dwell !== undefined && dwell.arrivedAtMs <= tsMs ? dwell : undefined
}

function dwellPosition(tsMs: number, { fixes, dwells }: Track): AlignedPosition | null {
  const dwell = dwellAt(tsMs, dwells)
  if (dwell === undefined) return null
  const errorM = dwell.fixCount === 1 ? singleFixDwellErrorM : dwell.radiusM
  // Use the time of the report: a fix outside the dwell that is reported late must not change the age of fixes inside.
  const reported = fixes[lastStartedBy(fixes, firstReport, tsMs)]
  return {
    alignedLat: dwell.lat,
    alignedLon: dwell.lon,
    alignment: 'dwell',
    alignErrorM: Math.hypot(dwell.accuracyM, errorM),
    alignedFixAgeMs: tsMs - Math.max(dwell.arrivedAtMs, reported?.timeMs ?? 0),
  }
}

function interpolatedPosition(
  tsMs: number,
  before: DistinctFix | undefined,
  older: DistinctFix | undefined,
  newer: DistinctFix | undefined,
): AlignedPosition | null {
  if (older === undefined || newer === undefined || tsMs === older.timeMs) return null
  const apartMs = newer.timeMs - older.timeMs
  const apartM = distanceM(older, newer)
  if (apartMs > maxInterpolation.ms || apartM > maxInterpolation.metres) return null
  const fraction = (tsMs - older.timeMs) / apartMs
  const { lat, lon } = pointOnCurve(before, older, newer, fraction)
  return {
    alignedLat: lat,
    alignedLon: lon,
    alignment: 'interpolated',
    alignErrorM: Math.hypot(Math.max(older.accuracyM, newer.accuracyM), gapErrorM(apartM, apartMs, fraction)),
    alignedFixAgeMs: tsMs - older.timeMs,
  }
}

/** Returns the error of a position between two fixes. It grows with the gap, which may contain a stop. */
function gapErrorM(apartM: number, apartMs: number, fraction: number): number {
  if (apartMs <= 20_000) return 0.6 * apartM * fraction * (1 - fraction)
  return apartMs <= maxCurveMs ? 0.3 * apartM : apartM / 2
}

const atFix = (fix: DistinctFix, alignment: 'exact' | 'held', awayMs: number, ageMs: number): AlignedPosition => ({
  alignedLat: fix.lat,
  alignedLon: fix.lon,
  alignment,
  alignErrorM: Math.hypot(fix.accuracyM, (speedOf(fix) * awayMs) / 1000),
  alignedFixAgeMs: ageMs,
})

function exactPosition(
  tsMs: number,
  older: DistinctFix | undefined,
  newer: DistinctFix | undefined,
): AlignedPosition | null {
  const sinceOlderMs = older === undefined ? Number.POSITIVE_INFINITY : tsMs - older.timeMs
  const untilNewerMs = newer === undefined ? Number.POSITIVE_INFINITY : newer.timeMs - tsMs
  if (older !== undefined && sinceOlderMs <= exactMs && sinceOlderMs <= untilNewerMs) {
    return atFix(older, 'exact', sinceOlderMs, sinceOlderMs)
  }
  return newer !== undefined && untilNewerMs <= exactMs ? atFix(newer, 'exact', untilNewerMs, 0) : null
}

function heldPosition(tsMs: number, older: DistinctFix | undefined): AlignedPosition | null {
  if (older === undefined || (older.speedMps ?? 0) > maxHeldSpeedMps) return null
  const sinceRepeatMs = Math.max(0, tsMs - older.lastReportMs)
  return sinceRepeatMs <= heldMs ? atFix(older, 'held', sinceRepeatMs, tsMs - older.timeMs) : null
}

/** Returns where an RF sample was measured, by the first rule that applies. `alignment` is `none` if no rule does. */
export function alignSample(row: RadioFacts, track: Track): AlignedPosition {
  const stamped = stampedPosition(row)
  if (stamped !== null) return stamped
  const { tsMs } = row
  const olderAt = lastStartedBy(track.fixes, fixTime, tsMs)
  const older = track.fixes[olderAt]
  const newer = track.fixes[olderAt + 1]
  const before = track.fixes[olderAt - 1]
  return (
    dwellPosition(tsMs, track) ??
    interpolatedPosition(tsMs, before, older, newer) ??
    exactPosition(tsMs, older, newer) ??
    heldPosition(tsMs, older) ??
    nowhere
  )
}

/**
 * The last cell and its row values. Vehicles stay in a cell for seconds, and the search and the conversion take longer than everything
 * else about a position.
 */
let lastCell: { index: string; cells: CoverageCells; positions: number; sides: CellSides | undefined } = {
  ...{ index: '', cells: noCells, positions: 0, sides: undefined },
}

/** The sides of a cell take as long as some searches, so they are for a vehicle that stays, not for one after the other. */
const positionsBeforeSides = 4

/** Returns the coverage cells of a position, or none if its error is too large. */
export function coverageCells({ alignedLat, alignedLon, alignErrorM }: AlignedPosition): CoverageCells {
  if (alignedLat === null || alignedLon === null || alignErrorM === null || alignErrorM > maxCoverageErrorM)
    return noCells
  if (lastCell.sides && isWellInside(lastCell.sides, alignedLat, alignedLon)) return lastCell.cells
  const index = latLngToCell(alignedLat, alignedLon, 10)
  if (index !== lastCell.index) {
    const h3Res10 = BigInt(`0x${index}`)
    lastCell = { index, cells: { h3Res10, h3Res5: resolution5Parent(h3Res10) }, positions: 0, sides: undefined }
  }
  lastCell.positions += 1
  if (lastCell.positions === positionsBeforeSides) lastCell.sides = sidesOf(index)
  return lastCell.cells
}

const resolutionBits = 0xfn << 52n
const digitsBeyond5 = (1n << 30n) - 1n

/** An H3 index holds its resolution in four bits and three bits for each digit; unused digits are all ones. */
const resolution5Parent = (cell: bigint): bigint => (cell & ~resolutionBits) | (5n << 52n) | digitsBeyond5

/** Returns the row with another position, or the row itself if it has that position. */
export function placeRow<Row extends RadioFacts>(row: Row, position: AlignedPosition): Row {
  const isUnchanged =
    row.alignment === position.alignment &&
    row.alignedLat === position.alignedLat &&
    row.alignedLon === position.alignedLon &&
    row.alignErrorM === position.alignErrorM &&
    row.alignedFixAgeMs === position.alignedFixAgeMs
  if (isUnchanged) return row
  const cells = coverageCells(position)
  // Assigned one by one: spreading several objects into one is five times slower.
  const placed = { ...row }
  placed.alignment = position.alignment
  placed.alignedLat = position.alignedLat
  placed.alignedLon = position.alignedLon
  placed.alignErrorM = position.alignErrorM
  placed.alignedFixAgeMs = position.alignedFixAgeMs
  placed.h3Res10 = cells.h3Res10
  placed.h3Res5 = cells.h3Res5
  return placed
}

/**
 * Aligns a device's RF samples with its location reports, both ordered by `tsMs`. Returns the rows in the same order, and
 * the dwells.
 */
export function align<Row extends RadioFacts>(
  reports: readonly FixReport[],
  samples: readonly Row[],
  policy: DwellPolicy,
): { rows: Row[]; dwells: Dwell[] } {
  const fixes = distinctFixes(reports)
  const dwells = detectDwells(fixes, policy)
  const track = { fixes, dwells }
  return { rows: samples.map((row) => placeRow(row, alignSample(row, track))), dwells }
}
