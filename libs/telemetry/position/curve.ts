import { bearingDeg, fromPlane, type PlaneVector, type Point, pointBetween, radians, toPlane } from '#telemetry/geo/geo'
import type { DistinctFix } from './distinct-fixes.ts'

/** Between fixes with a longer time apart, the curve is no better than a straight line. */
export const maxCurveMs = 40_000
/** A fix that is older than this gives no direction. */
export const maxDirectionAgeMs = 60_000
/** Below this speed, the reported heading is noise. */
const minHeadingSpeedMps = 2
const maxHeadingOffDeg = 90
/** A reported speed is stale if the vehicle would have moved this many times further with it. */
const maxSpeedRatio = 3

type Knot = Point & Pick<DistinctFix, 'timeMs' | 'speedMps' | 'headingDeg'>

/**
 * Returns the position a fraction of the time (0..1) between two consecutive distinct fixes: on a cubic Hermite curve in
 * the local plane of the older fix up to 40 s apart, on the straight line beyond. `before` is the distinct fix before
 * `older`. The curve depends on nothing after `newer`, so a later fix never moves a position on it.
 */
export function pointOnCurve(before: Knot | undefined, older: Knot, newer: Knot, fraction: number): Point {
  const durationMs = newer.timeMs - older.timeMs
  const chord = toPlane(older, newer)
  const chordM = length(chord)
  if (durationMs > maxCurveMs || chordM === 0 || !Number.isFinite(chordM)) return pointBetween(older, newer, fraction)

  const chordDirection = scale(chord, 1 / chordM)
  const startDirection = headingDirection(older, chord) ?? directionFromBefore(before, older, chord) ?? chordDirection
  const endDirection = headingDirection(newer, chord) ?? chordDirection
  // Metres covered at the speed of each end in the whole time between the fixes.
  const startM = tangentM(older, chordM, durationMs)
  const endM = tangentM(newer, chordM, durationMs)

  const u = fraction
  const startWeight = (u * u * u - 2 * u * u + u) * startM
  const chordWeight = 3 * u * u - 2 * u * u * u
  const endWeight = (u * u * u - u * u) * endM
  return fromPlane(older, {
    eastM: startWeight * startDirection.eastM + chordWeight * chord.eastM + endWeight * endDirection.eastM,
    northM: startWeight * startDirection.northM + chordWeight * chord.northM + endWeight * endDirection.northM,
  })
}

/** `Math.hypot` guards against overflow, which takes longer than the rest of the curve. */
const length = ({ eastM, northM }: PlaneVector): number => Math.sqrt(eastM * eastM + northM * northM)

const scale = ({ eastM, northM }: PlaneVector, factor: number): PlaneVector => ({
  eastM: eastM * factor,
  northM: northM * factor,
})

const tangentM = ({ speedMps }: Knot, chordM: number, durationMs: number): number =>
  speedMps === null ? chordM : Math.min((speedMps * durationMs) / 1000, maxSpeedRatio * chordM)

/** The unit vector of a reported heading; null if the fix has no reliable heading. */
function headingDirection({ speedMps, headingDeg }: Knot, chord: PlaneVector): PlaneVector | null {
  if (headingDeg === null || speedMps === null || speedMps < minHeadingSpeedMps) return null
  const offDeg = Math.abs(headingDeg - bearingDeg(chord)) % 360
  if (Math.min(offDeg, 360 - offDeg) > maxHeadingOffDeg) return null
  const angle = headingDeg * radians
  return { eastM: Math.sin(angle), northM: Math.cos(angle) }
}

/** The unit vector from the fix before the older one to the newer one. */
function directionFromBefore(before: Knot | undefined, older: Knot, chord: PlaneVector): PlaneVector | null {
  if (before === undefined || older.timeMs - before.timeMs > maxDirectionAgeMs) return null
  const origin = toPlane(older, before)
  const vector = { eastM: chord.eastM - origin.eastM, northM: chord.northM - origin.northM }
  const lengthM = length(vector)
  return lengthM === 0 ? null : scale(vector, 1 / lengthM)
}
