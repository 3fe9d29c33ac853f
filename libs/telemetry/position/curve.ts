import {
  bearingDeg,
  degreeM,
  earthRadiusM,
  normalizeLongitude,
  type PlaneVector,
  type Point,
  pointBetween,
  radians,
  toPlane,
} from '#telemetry/geo/geo'
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

/** The way between two consecutive distinct fixes: what all points on it share. */
export type Curve = {
  origin: Point
  end: Point
  /** Without bend, the other members say nothing. */
  isStraight: boolean
  /** From the older fix to the newer one. */
  chord: PlaneVector
  startDirection: PlaneVector
  endDirection: PlaneVector
  /** Metres covered at the speed of each end in the whole time between the fixes. */
  startM: number
  endM: number
  /** Metres of a degree of longitude. */
  lonDegreeM: number
}

/**
 * Returns the way between two consecutive distinct fixes: a cubic Hermite curve in the local plane of the older fix up to 40 s
 * apart, the straight line beyond. `before` is the distinct fix before `older`. The curve depends on nothing after `newer`,
 * so a later fix never moves a position on it.
 */
export function curveBetween(before: Knot | undefined, older: Knot, newer: Knot): Curve {
  const durationMs = newer.timeMs - older.timeMs
  const chord = toPlane(older, newer)
  const chordM = length(chord)
  const chordDirection = scale(chord, 1 / chordM)
  return {
    origin: older,
    end: newer,
    isStraight: durationMs > maxCurveMs || chordM === 0 || !Number.isFinite(chordM),
    chord,
    startDirection: headingDirection(older, chord) ?? directionFromBefore(before, older, chord) ?? chordDirection,
    endDirection: headingDirection(newer, chord) ?? chordDirection,
    startM: tangentM(older, chordM, durationMs),
    endM: tangentM(newer, chordM, durationMs),
    lonDegreeM: radians * Math.cos(older.lat * radians) * earthRadiusM,
  }
}

/** Returns the position after a fraction of the time (0..1) between the fixes. */
export function pointOn(curve: Curve, fraction: number): Point {
  const { origin, chord, startDirection, endDirection } = curve
  if (curve.isStraight) return pointBetween(origin, curve.end, fraction)
  const u = fraction
  const startWeight = (u * u * u - 2 * u * u + u) * curve.startM
  const chordWeight = 3 * u * u - 2 * u * u * u
  const endWeight = (u * u * u - u * u) * curve.endM
  const eastM = startWeight * startDirection.eastM + chordWeight * chord.eastM + endWeight * endDirection.eastM
  const northM = startWeight * startDirection.northM + chordWeight * chord.northM + endWeight * endDirection.northM
  return {
    lat: Math.max(-90, Math.min(90, origin.lat + northM / degreeM)),
    lon: normalizeLongitude(origin.lon + eastM / curve.lonDegreeM),
  }
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
