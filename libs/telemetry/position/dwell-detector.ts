import {
  addPoint,
  copyExtent,
  createExtent,
  type Extent,
  meanLat,
  meanLon,
  radiusM,
  startExtent,
  startExtentAround,
} from '#telemetry/geo/extent'
import { distanceBetween } from '#telemetry/geo/geo'
import { type DistinctFix, type FixReport, maxSilenceMs } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy, OpenDwellSummary } from './dwell.ts'
import {
  accuracyM,
  apartM,
  type FixList,
  firstReportMs,
  fixCount,
  fixLat,
  fixListOf,
  fixLon,
  fixTimeMs,
  hasGap,
  lastReportMs,
  takeFixReport,
} from './fix-list.ts'
import { firstCentre, forgetVectors } from './nearby-fixes.ts'

/**
 * The dwell of a device among its fixes, as plain data. While `isOpen`, the members from `arrivedAtMs` on describe the current dwell,
 * whose newest fix is the newest of the list. Otherwise the fixes from index `pendingFrom` on may become a dwell, the anchor first.
 */
export type DwellState = {
  pendingFrom: number
  isOpen: boolean
  arrivedAtMs: number
  anchorLat: number
  anchorLon: number
  accuracyM: number
  gap: boolean
  extent: Extent
}

export const createDwellState = (): DwellState => ({
  pendingFrom: 0,
  isOpen: false,
  ...{ arrivedAtMs: 0, anchorLat: 0, anchorLon: 0, accuracyM: 0, gap: false },
  extent: createExtent(),
})

/** Maximum number of fixes in memory that are within one radius and shorter than the minimum dwell. */
export const maxPendingFixes = 4096

/**
 * Takes the newest fix of the list into the dwell. Returns the dwell that it ends because it is outside. Finds dwells as the stay points of
 * Li et al., "Mining user similarity based on location history" (2008). A fix takes time proportional to the pending fixes
 * at most, because an anchor is dropped as soon as one fix is outside its radius.
 */
function takeNewestFix(dwell: DwellState, fixes: FixList, policy: DwellPolicy): Dwell | null {
  const newest = fixCount(fixes) - 1
  let closed: Dwell | null = null
  if (dwell.isOpen) {
    const { anchorLat, anchorLon } = dwell
    if (distanceBetween(anchorLat, anchorLon, fixLat(fixes, newest), fixLon(fixes, newest)) <= policy.radiusM) {
      grow(dwell, fixes, newest)
      dwell.pendingFrom = newest + 1
      return null
    }
    closed = closedBy(dwell, fixes, newest)
    dwell.isOpen = false
    dwell.pendingFrom = newest
  }
  const anchor = dwell.pendingFrom
  const isFirst = anchor === newest
  const keepsAnchor = isFirst || (newest - anchor < maxPendingFixes && apartM(fixes, anchor, newest) <= policy.radiusM)
  // None of the skipped anchors can be a dwell: all pending fixes together have not lasted long enough.
  if (!keepsAnchor) dwell.pendingFrom = firstCentre(fixes, anchor + 1, policy.radiusM)
  settle(dwell, fixes, policy)
  return closed
}

/** Turns pending fixes into a dwell once they have lasted long enough. */
function settle(dwell: DwellState, fixes: FixList, policy: DwellPolicy): void {
  const count = fixCount(fixes)
  const anchor = dwell.pendingFrom
  if (anchor >= count || lastReportMs(fixes, count - 1) - fixTimeMs(fixes, anchor) < policy.minimumMs) return
  dwell.isOpen = true
  dwell.arrivedAtMs = fixTimeMs(fixes, anchor)
  dwell.anchorLat = fixLat(fixes, anchor)
  dwell.anchorLon = fixLon(fixes, anchor)
  dwell.accuracyM = accuracyM(fixes, anchor)
  dwell.gap = hasGap(fixes, anchor)
  startExtent(dwell.extent, dwell.anchorLat, dwell.anchorLon)
  for (let fix = anchor + 1; fix < count; fix++) grow(dwell, fixes, fix)
  dwell.pendingFrom = count
}

/** Adds a fix whose predecessor is the newest of the dwell so far. */
function grow(dwell: DwellState, fixes: FixList, fix: number): void {
  dwell.gap ||= hasGap(fixes, fix) || firstReportMs(fixes, fix) - lastReportMs(fixes, fix - 1) > maxSilenceMs
  dwell.accuracyM = Math.max(dwell.accuracyM, accuracyM(fixes, fix))
  addPoint(dwell.extent, fixLat(fixes, fix), fixLon(fixes, fix))
}

/** The current dwell. */
export const openDwell = (dwell: DwellState, fixes: FixList): Dwell | null =>
  dwell.isOpen ? dwellUntil(dwell, lastReportMs(fixes, fixCount(fixes) - 1), null) : null

const closedBy = (dwell: DwellState, fixes: FixList, outside: number): Dwell =>
  dwellUntil(dwell, lastReportMs(fixes, outside - 1), fixTimeMs(fixes, outside))

const dwellUntil = (dwell: DwellState, lastInsideAtMs: number, firstOutsideAtMs: number | null): Dwell => ({
  arrivedAtMs: dwell.arrivedAtMs,
  departedAtMs: firstOutsideAtMs === null ? null : lastInsideAtMs,
  firstOutsideAtMs,
  lastInsideAtMs,
  anchorLat: dwell.anchorLat,
  anchorLon: dwell.anchorLon,
  lat: meanLat(dwell.extent),
  lon: meanLon(dwell.extent),
  radiusM: radiusM(dwell.extent),
  fixCount: dwell.extent.count,
  accuracyM: dwell.accuracyM,
  gap: dwell.gap,
})

/** The time before which data in order cannot change dwells. */
export function undecidedSinceMs({ isOpen, pendingFrom }: DwellState, fixes: FixList): number {
  const count = fixCount(fixes)
  if (isOpen) return lastReportMs(fixes, count - 1)
  return pendingFrom < count ? fixTimeMs(fixes, pendingFrom) : 0
}

/**
 * Makes the state that within an open dwell of which only the summary is known. Its fixes are in the list. Its centre and duration
 * are exact, also after further fixes. Its radius may be too large until the dwell is detected again.
 */
export function startWithin(dwell: DwellState, summary: OpenDwellSummary, fixes: FixList): void {
  const { anchorLat, anchorLon, lat, lon } = summary
  const around = { count: summary.fixCount, mean: { lat, lon }, radiusM: summary.radiusM }
  dwell.pendingFrom = fixCount(fixes)
  dwell.isOpen = true
  dwell.arrivedAtMs = summary.arrivedAtMs
  dwell.anchorLat = anchorLat
  dwell.anchorLon = anchorLon
  dwell.accuracyM = summary.accuracyM
  dwell.gap = summary.gap
  startExtentAround(dwell.extent, { lat: anchorLat, lon: anchorLon }, around)
}

/** Makes `to` equal to `from`. */
export function copyDwellState(from: DwellState, to: DwellState): void {
  const { extent } = to
  Object.assign(to, from, { extent })
  copyExtent(from.extent, extent)
}

/** Adds the next report to the fixes and to the dwell. Returns the dwell that it ends because it is outside. */
export function takeReport(dwell: DwellState, fixes: FixList, policy: DwellPolicy, report: FixReport): Dwell | null {
  if (takeFixReport(fixes, report) === 'new') return takeNewestFix(dwell, fixes, policy)
  if (!dwell.isOpen) settle(dwell, fixes, policy)
  else dwell.gap ||= hasGap(fixes, fixCount(fixes) - 1)
  return null
}

/** Returns the dwells of distinct fixes in order. The last one is open if its `firstOutsideAtMs` is null. */
export function detectDwells(distinct: readonly DistinctFix[], policy: DwellPolicy): Dwell[] {
  const dwell = createDwellState()
  const fixes = fixListOf(distinct)
  const numbers = fixes.length
  forgetVectors()
  fixes.length = 0
  const closed = distinct.flatMap(() => {
    fixes.length += numbers / distinct.length
    return takeNewestFix(dwell, fixes, policy) ?? []
  })
  const open = openDwell(dwell, fixes)
  return open === null ? closed : [...closed, open]
}

/** What is known of an open dwell: the summary of its fixes, of which the newest ones are in `fixes`. */
export type WithinDwell = { summary: OpenDwellSummary; fixes: readonly DistinctFix[] }

/**
 * Returns the time before which data after these reports, which are in order, cannot change dwells, or move RF rows, if it arrives in
 * order. `within`: the open dwell before the reports.
 */
export function undecidedFromMs(reports: readonly FixReport[], policy: DwellPolicy, within?: WithinDwell): number {
  const dwell = createDwellState()
  const fixes = fixListOf(within?.fixes ?? [])
  if (within) startWithin(dwell, within.summary, fixes)
  forgetVectors()
  for (const report of reports) takeReport(dwell, fixes, policy, report)
  return undecidedSinceMs(dwell, fixes)
}
