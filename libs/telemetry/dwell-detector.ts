import { type DistinctFix, maxSilenceMs } from './distinct-fixes.ts'
import type { Dwell, DwellPolicy } from './dwell.ts'
import { addPoint, centre, copyOfExtent, type Extent, extentOf, radiusM } from './extent.ts'
import { distanceM } from './geo.ts'
import { createNearbyPoints } from './nearby-points.ts'

type Stay = { anchor: DistinctFix; last: DistinctFix; extent: Extent; accuracyM: number; gap: boolean }

/**
 * Where a detector stands: `stay` once the fixes since the anchor are certain to be a dwell, until then those fixes in
 * `pending`, anchor first. The newest fix may still be repeated. Plain JSON data.
 */
export type DwellState = { pending: DistinctFix[]; stay: Stay | null }

export const initialDwellState: DwellState = { pending: [], stay: null }

export type DwellDetector = {
  /** Takes the next distinct fix. Returns the dwell that it ended by being outside of it. */
  takeFix(fix: DistinctFix): Dwell | null
  /** Takes the newest fix again, after one more report has repeated it. */
  takeRepeat(fix: DistinctFix): void
  /** The dwell the device is in the middle of. */
  open(): Dwell | null
  /** Arrival of the dwell the device is in the middle of. */
  openSinceMs(): number | null
  /** Nothing that comes in order can change a dwell before this time. */
  undecidedFromMs(): number
  /** A copy, to go on from later. */
  state(): DwellState
}

/** More fixes than this within one radius and less than the minimum stay are not kept: memory stays bounded. */
export const maxPendingFixes = 4096

/**
 * Finds stay points as in Li et al., "Mining user similarity based on location history" (2008), among distinct fixes
 * given one by one. A fix costs time proportional to the pending fixes at most, whatever came before it: an anchor that
 * one fix is outside of is never looked at again.
 */
export function createDwellDetector(policy: DwellPolicy, initial: DwellState = initialDwellState): DwellDetector {
  const pending = createNearbyPoints<DistinctFix>(policy.radiusM)
  let stay = initial.stay && { ...initial.stay, extent: copyOfExtent(initial.stay.extent) }
  let last = initial.pending.at(-1)
  for (const fix of initial.pending) pending.push(fix)

  /** Turns pending fixes into a stay once they have lasted long enough; whatever comes next, they are a dwell then. */
  function settle(): void {
    const anchor = pending.at(0)
    if (anchor === undefined || last === undefined || last.lastReportMs - anchor.timeMs < policy.minimumMs) return
    stay = { anchor, last: anchor, extent: extentOf(anchor), accuracyM: anchor.accuracyM, gap: anchor.gap }
    for (let index = 1; index < pending.length; index++) {
      const fix = pending.at(index)
      if (fix) growStay(stay, fix)
    }
    pending.dropFirst(pending.length)
  }

  return {
    takeFix(fix) {
      let closed: Dwell | null = null
      if (stay !== null) {
        if (distanceM(stay.anchor, fix) <= policy.radiusM) {
          growStay(stay, fix)
          return null
        }
        closed = toDwell(stay, fix)
        stay = null
      }
      const anchor = pending.at(0)
      const keepsAnchor =
        anchor === undefined || (pending.length < maxPendingFixes && distanceM(anchor, fix) <= policy.radiusM)
      pending.push(fix)
      last = fix
      if (!keepsAnchor) {
        // None of the anchors passed over can be a dwell: together the pending fixes have not lasted long enough.
        let passed = 1
        while (!pending.isCentreOfRest(passed)) passed++
        pending.dropFirst(passed)
      }
      settle()
      return closed
    },
    takeRepeat(fix) {
      if (stay !== null) {
        stay.last = fix
        stay.gap ||= fix.gap
        return
      }
      pending.replaceLast(fix)
      last = fix
      settle()
    },
    open: () => stay && toDwell(stay, null),
    openSinceMs: () => stay?.anchor.timeMs ?? null,
    undecidedFromMs: () => stay?.last.lastReportMs ?? pending.at(0)?.timeMs ?? 0,
    state: () => ({ pending: pending.list(), stay: stay && { ...stay, extent: copyOfExtent(stay.extent) } }),
  }
}

function growStay(stay: Stay, fix: DistinctFix): void {
  stay.gap ||= fix.gap || fix.firstReportMs - stay.last.lastReportMs > maxSilenceMs
  stay.last = fix
  stay.accuracyM = Math.max(stay.accuracyM, fix.accuracyM)
  addPoint(stay.extent, fix)
}

const toDwell = ({ anchor, last, extent, accuracyM, gap }: Stay, outside: DistinctFix | null): Dwell => ({
  arrivedAtMs: anchor.timeMs,
  departedAtMs: outside === null ? null : last.lastReportMs,
  firstOutsideAtMs: outside?.timeMs ?? null,
  lastInsideAtMs: last.lastReportMs,
  ...centre(extent),
  radiusM: radiusM(extent),
  fixCount: extent.count,
  accuracyM,
  gap,
})

/** The dwells among distinct fixes in order; the last one is open when its `firstOutsideAtMs` is null. */
export function detectDwells(fixes: readonly DistinctFix[], policy: DwellPolicy): Dwell[] {
  const detector = createDwellDetector(policy)
  const dwells = fixes.flatMap((fix) => detector.takeFix(fix) ?? [])
  const open = detector.open()
  return open === null ? dwells : [...dwells, open]
}
