import { distanceM, type Point } from '#telemetry/geo/geo'
import { curveBetween, maxCurveMs, pointOn } from './curve.ts'
import { type DistinctFix, maxSilenceMs } from './distinct-fixes.ts'

/** The way of a device from a dwell to its next one; `arrivedAtMs` and `to` are null until it dwells again. */
export type Way = { departedAtMs: number; from: Point; arrivedAtMs: number | null; to: Point | null }

/** A way, or a part of one between silences. `lastMs`: its end, or the newest fix of a way that is not over. */
export type Trip = {
  departedAtMs: number
  arrivedAtMs: number | null
  lastMs: number
  from: Point
  to: Point
  distanceM: number
  /** Whether more than 15 minutes without a fix are before or after it. */
  gap: boolean
}

/** Half a metre of a curve of 300 m at most. */
const curveSteps = 8

/** Returns the metres from a fix to the next one: along the curve that places RF samples, or straight where there is none. */
function wayM(before: DistinctFix | undefined, older: DistinctFix, newer: DistinctFix): number {
  if (newer.timeMs - older.timeMs > maxCurveMs) return distanceM(older, newer)
  const curve = curveBetween(before, older, newer)
  let sumM = 0
  let at: Point = older
  for (let step = 1; step <= curveSteps; step++) {
    const next = step === curveSteps ? newer : pointOn(curve, step / curveSteps)
    sumM += distanceM(at, next)
    at = next
  }
  return sumM
}

/** Splits the fixes of a way where the device was silent for more than 15 minutes. */
function stretchesOf(fixes: readonly DistinctFix[]): DistinctFix[][] {
  const stretches: DistinctFix[][] = []
  for (const fix of fixes) {
    const stretch = stretches.at(-1)
    const last = stretch?.at(-1)
    if (stretch && last && fix.firstReportMs - last.lastReportMs <= maxSilenceMs) stretch.push(fix)
    else stretches.push([fix])
  }
  return stretches
}

/**
 * Returns the trips of a way, oldest first, from its distinct fixes in order: the last one inside the dwell before up to the
 * first one inside the next dwell. A silence of more than 15 minutes splits it, and nothing is known of the way meanwhile. A
 * part of a single fix is none.
 */
export function tripsOf(way: Way, fixes: readonly DistinctFix[]): Trip[] {
  const stretches = stretchesOf(fixes)
  let beforeMs = way.departedAtMs
  return stretches.flatMap((stretch, index) => {
    const [first, last] = [stretch[0], stretch.at(-1)]
    if (!first || !last || first === last) return []
    const [isFirst, isLast] = [index === 0, index === stretches.length - 1]
    // A fix can be some seconds older than the last report of the fix before. No trip ends before it begins because of that.
    const departedAtMs = isFirst ? way.departedAtMs : Math.max(beforeMs, first.timeMs)
    const endsAtMs = isLast ? way.arrivedAtMs : last.lastReportMs
    const arrivedAtMs = endsAtMs === null ? null : Math.max(departedAtMs, endsAtMs)
    beforeMs = arrivedAtMs ?? Math.max(departedAtMs, last.lastReportMs)
    return [
      {
        departedAtMs,
        arrivedAtMs,
        lastMs: beforeMs,
        from: isFirst ? way.from : pointOf(first),
        to: (isLast ? way.to : null) ?? pointOf(last),
        distanceM: stretch.reduce((sumM, fix, at) => {
          const older = stretch[at - 1]
          return older ? sumM + wayM(stretch[at - 2], older, fix) : sumM
        }, 0),
        gap: stretches.length > 1,
      },
    ]
  })
}

const pointOf = ({ lat, lon }: Point): Point => ({ lat, lon })
