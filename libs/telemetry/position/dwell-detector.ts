import { addPoint, centre, copyOfExtent, type Extent, extentAround, extentOf, radiusM } from '#telemetry/geo/extent'
import { distanceM } from '#telemetry/geo/geo'
import { createNearbyPoints } from '#telemetry/geo/nearby-points'
import { type DistinctFix, maxSilenceMs } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy, OpenDwellSummary } from './dwell.ts'

type OpenDwell = { anchor: DistinctFix; last: DistinctFix; extent: Extent; accuracyM: number; gap: boolean }

/**
 * The state of a detector: `open` is the current dwell. Without one, `pending` has the fixes that may become a dwell,
 * anchor first. The newest fix may still be repeated. Plain JSON data.
 */
export type DwellState = { pending: DistinctFix[]; open: OpenDwell | null }

export const initialDwellState: DwellState = { pending: [], open: null }

export type DwellDetector = {
  /** Takes the next distinct fix. Returns the dwell that it ends because it is outside. */
  takeFix(fix: DistinctFix): Dwell | null
  /** Takes the newest fix again, after one more report has repeated it. */
  takeRepeat(fix: DistinctFix): void
  /** Returns the current dwell. */
  open(): Dwell | null
  /** Returns the arrival of the current dwell. */
  openSinceMs(): number | null
  /** Returns the time before which data in order cannot change dwells. */
  undecidedFromMs(): number
  /** Returns a copy of the state. */
  state(): DwellState
}

/** Maximum number of fixes in memory that are within one radius and shorter than the minimum dwell. */
export const maxPendingFixes = 4096

/**
 * Finds dwells as the stay points of Li et al., "Mining user similarity based on location history" (2008), among distinct
 * fixes that arrive one by one. A fix takes time proportional to the pending fixes at most, because an anchor is dropped
 * as soon as one fix is outside its radius.
 */
export function createDwellDetector(policy: DwellPolicy, initial: DwellState = initialDwellState): DwellDetector {
  const pending = createNearbyPoints<DistinctFix>(policy.radiusM)
  let dwell = initial.open && { ...initial.open, extent: copyOfExtent(initial.open.extent) }
  let last = initial.pending.at(-1)
  for (const fix of initial.pending) pending.push(fix)

  /** Turns pending fixes into a dwell once they have lasted long enough. */
  function settle(): void {
    const anchor = pending.at(0)
    if (anchor === undefined || last === undefined || last.lastReportMs - anchor.timeMs < policy.minimumMs) return
    dwell = { anchor, last: anchor, extent: extentOf(anchor), accuracyM: anchor.accuracyM, gap: anchor.gap }
    for (let index = 1; index < pending.length; index++) {
      const fix = pending.at(index)
      if (fix) grow(dwell, fix)
    }
    pending.dropFirst(pending.length)
  }

  return {
    takeFix(fix) {
      let closed: Dwell | null = null
      if (dwell !== null) {
        if (distanceM(dwell.anchor, fix) <= policy.radiusM) {
          grow(dwell, fix)
          return null
        }
        closed = toDwell(dwell, fix)
        dwell = null
      }
      const anchor = pending.at(0)
      const keepsAnchor =
        anchor === undefined || (pending.length < maxPendingFixes && distanceM(anchor, fix) <= policy.radiusM)
      pending.push(fix)
      last = fix
      if (!keepsAnchor) {
        // None of the skipped anchors can be a dwell: all pending fixes together have not lasted long enough.
        let passed = 1
        while (!pending.isCentreOfRest(passed)) passed++
        pending.dropFirst(passed)
      }
      settle()
      return closed
    },
    takeRepeat(fix) {
      if (dwell !== null) {
        dwell.last = fix
        dwell.gap ||= fix.gap
        return
      }
      pending.replaceLast(fix)
      last = fix
      settle()
    },
    open: () => dwell && toDwell(dwell, null),
    openSinceMs: () => dwell?.anchor.timeMs ?? null,
    undecidedFromMs: () => dwell?.last.lastReportMs ?? pending.at(0)?.timeMs ?? 0,
    state: () => ({ pending: pending.list(), open: dwell && { ...dwell, extent: copyOfExtent(dwell.extent) } }),
  }
}

/**
 * Returns the state within an open dwell of which only the summary is known, and the newest fix. Its centre and duration are
 * exact, also after further fixes. Its radius may be too large until the dwell is detected again.
 */
export function stateWithin(dwell: OpenDwellSummary, last: DistinctFix): DwellState {
  const { arrivedAtMs, anchorLat, anchorLon, lat, lon, radiusM: metres, fixCount, accuracyM, gap } = dwell
  const position = { lat: anchorLat, lon: anchorLon }
  const times = { timeMs: arrivedAtMs, firstReportMs: arrivedAtMs, lastReportMs: arrivedAtMs }
  const anchor = { ...position, ...times, accuracyM, speedMps: null, headingDeg: null, gap: false }
  const extent = extentAround(position, { count: fixCount, mean: { lat, lon }, radiusM: metres })
  return { pending: [], open: { anchor, last, extent, accuracyM, gap } }
}

function grow(dwell: OpenDwell, fix: DistinctFix): void {
  dwell.gap ||= fix.gap || fix.firstReportMs - dwell.last.lastReportMs > maxSilenceMs
  dwell.last = fix
  dwell.accuracyM = Math.max(dwell.accuracyM, fix.accuracyM)
  addPoint(dwell.extent, fix)
}

const toDwell = ({ anchor, last, extent, accuracyM, gap }: OpenDwell, outside: DistinctFix | null): Dwell => ({
  arrivedAtMs: anchor.timeMs,
  departedAtMs: outside === null ? null : last.lastReportMs,
  firstOutsideAtMs: outside?.timeMs ?? null,
  lastInsideAtMs: last.lastReportMs,
  anchorLat: anchor.lat,
  anchorLon: anchor.lon,
  ...centre(extent),
  radiusM: radiusM(extent),
  fixCount: extent.count,
  accuracyM,
  gap,
})

/** Returns the dwells of distinct fixes in order. The last one is open if its `firstOutsideAtMs` is null. */
export function detectDwells(fixes: readonly DistinctFix[], policy: DwellPolicy): Dwell[] {
  const detector = createDwellDetector(policy)
  const dwells = fixes.flatMap((fix) => detector.takeFix(fix) ?? [])
  const open = detector.open()
  return open === null ? dwells : [...dwells, open]
}

/** Returns the time before which data after these fixes cannot change dwells, or move RF rows, if it arrives in order. */
export function undecidedFromMs(fixes: readonly DistinctFix[], policy: DwellPolicy, before?: DwellState): number {
  const detector = createDwellDetector(policy, before)
  for (const fix of fixes) detector.takeFix(fix)
  return detector.undecidedFromMs()
}
