import { latLngToCell } from 'h3-js'
import { type CellSides, isWellInside, sidesOf } from '#telemetry/geo/cell-sides'
import type { AlignedPosition, CoverageCells, RadioFacts } from '#telemetry/report/rows'
import { fixAccuracyM, isUsableFix } from '#telemetry/report/usable'
import { type Curve, curveBetween, maxCurveMs, pointOn } from './curve.ts'
import { distinctFixes, type FixReport } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import { detectDwells } from './dwell-detector.ts'
import {
  accuracyM,
  apartM,
  type FixList,
  fixCount,
  fixLat,
  fixListOf,
  fixLon,
  fixMadeBy,
  fixOf,
  fixReportedBy,
  fixTimeMs,
  lastReportMs,
  speedMps,
} from './fix-list.ts'

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

/** A device's positions over time, as long as they do not change: fixes in order of time, dwells in order of arrival. */
export type Track = {
  readonly fixes: FixList
  readonly dwells: readonly Dwell[]
  /** The last fixes between which a sample was placed. */
  bracket: Bracket | undefined
}

export const trackOf = (fixes: FixList, dwells: readonly Dwell[]): Track => ({ fixes, dwells, bracket: undefined })

/** What all samples between two consecutive fixes share. `curve` is null if they are too far apart. */
type Bracket = { older: number; apartMs: number; apartM: number; accuracyM: number; curve: Curve | null }

const nowhere: AlignedPosition = {
  alignedLat: null,
  alignedLon: null,
  alignment: 'none',
  alignErrorM: null,
  alignedFixAgeMs: null,
}

const noCells: CoverageCells = { h3Res10: null, h3Res5: null }

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
  let low = 0
  let high = dwells.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((dwells[middle]?.lastInsideAtMs ?? tsMs) < tsMs) low = middle + 1
    else high = middle
  }
  const dwell = dwells[low]
  return dwell !== undefined && dwell.arrivedAtMs <= tsMs ? dwell : undefined
}

function dwellPosition(tsMs: number, { fixes, dwells }: Track): AlignedPosition | null {
  const dwell = dwellAt(tsMs, dwells)
  if (dwell === undefined) return null
  const errorM = dwell.fixCount === 1 ? singleFixDwellErrorM : dwell.radiusM
  // Use the time of the report: a fix outside the dwell that is reported late must not change the age of fixes inside.
  const reported = fixReportedBy(fixes, tsMs)
  return {
    alignedLat: dwell.lat,
    alignedLon: dwell.lon,
    alignment: 'dwell',
    alignErrorM: Math.hypot(dwell.accuracyM, errorM),
    alignedFixAgeMs: tsMs - Math.max(dwell.arrivedAtMs, reported < 0 ? 0 : fixTimeMs(fixes, reported)),
  }
}

function bracketAt(fixes: FixList, older: number): Bracket {
  const newer = older + 1
  const apartMs = fixTimeMs(fixes, newer) - fixTimeMs(fixes, older)
  const metres = apartM(fixes, older, newer)
  const isFar = apartMs > maxInterpolation.ms || metres > maxInterpolation.metres
  const before = older > 0 ? fixOf(fixes, older - 1) : undefined
  return {
    older,
    apartMs,
    apartM: metres,
    accuracyM: Math.max(accuracyM(fixes, older), accuracyM(fixes, newer)),
    curve: isFar ? null : curveBetween(before, fixOf(fixes, older), fixOf(fixes, newer)),
  }
}

/** `older`: the newest fix at or before the time. */
function interpolatedPosition(tsMs: number, track: Track, older: number): AlignedPosition | null {
  const { fixes } = track
  if (older < 0 || older + 1 >= fixCount(fixes)) return null
  const sinceOlderMs = tsMs - fixTimeMs(fixes, older)
  if (sinceOlderMs === 0) return null
  if (track.bracket?.older !== older) track.bracket = bracketAt(fixes, older)
  const { curve, apartMs, apartM: metres, accuracyM: ofFixesM } = track.bracket
  if (curve === null) return null
  const fraction = sinceOlderMs / apartMs
  const { lat, lon } = pointOn(curve, fraction)
  return {
    alignedLat: lat,
    alignedLon: lon,
    alignment: 'interpolated',
    alignErrorM: Math.hypot(ofFixesM, gapErrorM(metres, apartMs, fraction)),
    alignedFixAgeMs: sinceOlderMs,
  }
}

/** Returns the error of a position between two fixes. It grows with the gap, which may contain a stop. */
function gapErrorM(metres: number, apartMs: number, fraction: number): number {
  if (apartMs <= 20_000) return 0.6 * metres * fraction * (1 - fraction)
  return apartMs <= maxCurveMs ? 0.3 * metres : metres / 2
}

function atFix(
  fixes: FixList,
  fix: number,
  alignment: 'exact' | 'held',
  awayMs: number,
  ageMs: number,
): AlignedPosition {
  const reportedMps = speedMps(fixes, fix)
  const movedM = ((Number.isNaN(reportedMps) ? assumedSpeedMps : reportedMps) * awayMs) / 1000
  return {
    alignedLat: fixLat(fixes, fix),
    alignedLon: fixLon(fixes, fix),
    alignment,
    alignErrorM: Math.hypot(accuracyM(fixes, fix), movedM),
    alignedFixAgeMs: ageMs,
  }
}

function exactPosition(tsMs: number, fixes: FixList, older: number): AlignedPosition | null {
  const newer = older + 1
  const sinceOlderMs = older < 0 ? Number.POSITIVE_INFINITY : tsMs - fixTimeMs(fixes, older)
  const untilNewerMs = newer < fixCount(fixes) ? fixTimeMs(fixes, newer) - tsMs : Number.POSITIVE_INFINITY
  if (sinceOlderMs <= exactMs && sinceOlderMs <= untilNewerMs)
    return atFix(fixes, older, 'exact', sinceOlderMs, sinceOlderMs)
  return untilNewerMs <= exactMs ? atFix(fixes, newer, 'exact', untilNewerMs, 0) : null
}

function heldPosition(tsMs: number, fixes: FixList, older: number): AlignedPosition | null {
  if (older < 0 || speedMps(fixes, older) > maxHeldSpeedMps) return null
  const sinceRepeatMs = Math.max(0, tsMs - lastReportMs(fixes, older))
  return sinceRepeatMs <= heldMs ? atFix(fixes, older, 'held', sinceRepeatMs, tsMs - fixTimeMs(fixes, older)) : null
}

/** Returns where an RF sample was measured, by the first rule that applies. `alignment` is `none` if no rule does. */
export function alignSample(row: RadioFacts, track: Track): AlignedPosition {
  const stamped = stampedPosition(row)
  if (stamped !== null) return stamped
  const { tsMs } = row
  const { fixes } = track
  const older = fixMadeBy(fixes, tsMs)
  return (
    dwellPosition(tsMs, track) ??
    interpolatedPosition(tsMs, track, older) ??
    exactPosition(tsMs, fixes, older) ??
    heldPosition(tsMs, fixes, older) ??
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
  const track = trackOf(fixListOf(fixes), dwells)
  return { rows: samples.map((row) => placeRow(row, alignSample(row, track))), dwells }
}
