import { createHash } from 'node:crypto'
import { type DistinctFix, maxSilenceMs } from './distinct-fixes.ts'
import { centre, type Extent, extend, extentOf, radiusM } from './extent.ts'
import { distanceM } from './geo.ts'

export const deviceClasses = ['vehicle', 'ship', 'fixed'] as const
export type DeviceClass = (typeof deviceClasses)[number]

/** How close together and how long fixes must be to be a stay. */
export type DwellPolicy = { radiusM: number; minimumMs: number }

const minuteMs = 60_000

/** The radius is about the distance at which receivers report a new fix. */
export const dwellPolicies: Record<DeviceClass, DwellPolicy> = {
  vehicle: { radiusM: 100, minimumMs: 5 * minuteMs },
  ship: { radiusM: 500, minimumMs: 30 * minuteMs },
  fixed: { radiusM: 250, minimumMs: 30 * minuteMs },
}

/** A stay. The two last times are null while nothing outside has been seen. */
export type Dwell = {
  arrivedAtMs: number
  departedAtMs: number | null
  firstOutsideAtMs: number | null
  /** End of the newest fix inside. */
  lastInsideAtMs: number
  lat: number
  lon: number
  radiusM: number
  fixCount: number
  /** Of the least accurate fix. */
  accuracyM: number
  gap: boolean
}

type Stay = { anchor: DistinctFix; last: DistinctFix; extent: Extent; accuracyM: number; gap: boolean }

/**
 * Where the detector stands: `stay` once the fixes since the anchor are certain to be a dwell, until then those fixes
 * in `pending`, anchor first. The newest fix may still be repeated.
 */
export type DwellState = { pending: DistinctFix[]; stay: Stay | null }

export const initialDwellState: DwellState = { pending: [], stay: null }

/** More fixes than this within one radius and less than the minimum stay are not kept: memory stays bounded. */
const maxPendingFixes = 4096

function startStay(fixes: readonly DistinctFix[], anchor: DistinctFix): Stay {
  let stay: Stay = { anchor, last: anchor, extent: extentOf(anchor), accuracyM: anchor.accuracyM, gap: anchor.gap }
  for (const fix of fixes.slice(1)) stay = growStay(stay, fix)
  return stay
}

const growStay = (stay: Stay, fix: DistinctFix): Stay => ({
  anchor: stay.anchor,
  last: fix,
  extent: extend(stay.extent, fix),
  accuracyM: Math.max(stay.accuracyM, fix.accuracyM),
  gap: stay.gap || fix.gap || fix.firstReportMs - stay.last.lastReportMs > maxSilenceMs,
})

/** The dwell a state is in the middle of, null when it is in none. */
export function openDwell({ stay }: DwellState): Dwell | null {
  return stay === null ? null : toDwell(stay, null)
}

function toDwell({ anchor, last, extent, accuracyM, gap }: Stay, outside: DistinctFix | null): Dwell {
  return {
    arrivedAtMs: anchor.timeMs,
    departedAtMs: outside === null ? null : last.lastReportMs,
    firstOutsideAtMs: outside?.timeMs ?? null,
    lastInsideAtMs: last.lastReportMs,
    ...centre(extent),
    radiusM: radiusM(extent),
    fixCount: extent.count,
    accuracyM,
    gap,
  }
}

/** Turns pending fixes into a stay once they have lasted long enough; whatever comes next, they are a dwell then. */
function settle({ pending, stay }: DwellState, policy: DwellPolicy): DwellState {
  const [anchor] = pending
  const last = pending.at(-1)
  if (stay !== null || anchor === undefined || last === undefined) return { pending, stay }
  if (last.lastReportMs - anchor.timeMs < policy.minimumMs) return { pending, stay }
  return { pending: [], stay: startStay(pending, anchor) }
}

/**
 * The first of the pending fixes that has everything up to `fix` inside its radius becomes the anchor. None of the
 * anchors passed over can be a dwell: together the pending fixes have not lasted long enough for one.
 */
function moveAnchor(pending: readonly DistinctFix[], fix: DistinctFix, policy: DwellPolicy): DistinctFix[] {
  const run = [...pending, fix]
  const anchorAt = run.findIndex((anchor, index) => {
    if (distanceM(anchor, fix) > policy.radiusM) return false
    return run.slice(index + 1).every((between) => distanceM(anchor, between) <= policy.radiusM)
  })
  return run.slice(anchorAt)
}

/**
 * Takes the next distinct fix. `closed` is the dwell it ended by being outside of it.
 * Stay points as in Li et al., "Mining user similarity based on location history" (2008), on distinct fixes.
 */
export function observeFix(
  state: DwellState,
  fix: DistinctFix,
  policy: DwellPolicy,
): { state: DwellState; closed: Dwell | null } {
  const { pending, stay } = state
  if (stay !== null) {
    if (distanceM(stay.anchor, fix) > policy.radiusM) {
      return { state: settle({ pending: [fix], stay: null }, policy), closed: toDwell(stay, fix) }
    }
    return { state: { pending: [], stay: growStay(stay, fix) }, closed: null }
  }
  const [anchor] = pending
  const isInside = anchor !== undefined && distanceM(anchor, fix) <= policy.radiusM
  const next =
    isInside && pending.length < maxPendingFixes
      ? [...pending, fix]
      : moveAnchor(pending.slice(anchor === undefined ? 0 : 1), fix, policy)
  return { state: settle({ pending: next, stay: null }, policy), closed: null }
}

/** Takes the newest fix again, after one more report has repeated it. */
export function observeRepeat({ pending, stay }: DwellState, fix: DistinctFix, policy: DwellPolicy): DwellState {
  if (stay !== null) return { pending, stay: { ...stay, last: fix, gap: stay.gap || fix.gap } }
  return settle({ pending: [...pending.slice(0, -1), fix], stay: null }, policy)
}

/** The dwells among distinct fixes in order; the last one is open when its `firstOutsideAtMs` is null. */
export function detectDwells(fixes: readonly DistinctFix[], policy: DwellPolicy): Dwell[] {
  const dwells: Dwell[] = []
  let state = initialDwellState
  for (const fix of fixes) {
    const observed = observeFix(state, fix, policy)
    state = observed.state
    if (observed.closed !== null) dwells.push(observed.closed)
  }
  const open = openDwell(state)
  return open === null ? dwells : [...dwells, open]
}

/**
 * True when no anchor can have both fixes inside: whatever came before, the detector starts anew at `fix`. What is
 * decided before such a jump never depends on what comes after it, and the other way round, so that late data needs
 * to be worked through only from one jump to another.
 */
export const isFreshStart = (previous: Position, fix: Position, policy: DwellPolicy): boolean =>
  distanceM(previous, fix) > 2 * policy.radiusM

type Position = { lat: number; lon: number }

/** The same for the same device and arrival, in the layout of a UUIDv7 so that it sorts by arrival. */
export function dwellId(deviceId: string, arrivedAtMs: number): string {
  const hash = createHash('sha256').update(`${deviceId} ${arrivedAtMs}`).digest('hex')
  const time = arrivedAtMs.toString(16).padStart(12, '0')
  const variant = '89ab'[Number.parseInt(hash.charAt(3), 16) & 3]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
