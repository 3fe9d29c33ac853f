import { distanceM, type Point, radians } from './geo.ts'

/** A stretch of a route, in metres from its start, and the point in its middle. */
export type RouteSegment = Point & { fromM: number; toM: number }

// A rest shorter than this comes from rounding. It belongs to the last segment.
const roundingM = 0.001

/** Metres along a path of points, each leg on a great circle. */
export function pathLengthM(path: readonly Point[]): number {
  let lengthM = 0
  for (let index = 1; index < path.length; index++) lengthM += legLengthM(path, index)
  return lengthM
}

/**
 * Segments of `everyM` metres that cover a path without gaps; the last one may be shorter. A path without length has
 * no segments.
 */
export function routeSegments(path: readonly Point[], everyM: number): RouteSegment[] {
  const lengthM = pathLengthM(path)
  const count = lengthM <= roundingM ? 0 : Math.max(1, Math.ceil((lengthM - roundingM) / everyM))
  const pointAt = pathWalker(path)
  return Array.from({ length: count }, (_, index) => {
    const fromM = index * everyM
    const toM = index === count - 1 ? lengthM : fromM + everyM
    return { fromM, toM, ...pointAt((fromM + toM) / 2) }
  })
}

/** The stretches of a route in metres from its start, and their segments. */
type Route = { stretches: { fromM: number; toM: number }[]; segments: RouteSegment[] }

/** A route along lines. Distances continue from one line to the next, so the gap between them has no length. */
export function routeOf(lines: readonly (readonly Point[])[], everyM: number): Route {
  const route: Route = { stretches: [], segments: [] }
  let startM = 0
  for (const line of lines) {
    for (const { fromM, toM, ...middle } of routeSegments(line, everyM)) {
      route.segments.push({ fromM: startM + fromM, toM: startM + toM, ...middle })
    }
    const toM = startM + pathLengthM(line)
    route.stretches.push({ fromM: startM, toM })
    startM = toM
  }
  return route
}

/** A function that returns the point at a distance along the path. Distances must not decrease between calls. */
function pathWalker(path: readonly Point[]): (alongM: number) => Point {
  let leg = 1
  let startM = 0
  let legM = legLengthM(path, leg)
  return (alongM) => {
    while (startM + legM < alongM && leg < path.length - 1) {
      startM += legM
      leg++
      legM = legLengthM(path, leg)
    }
    const fraction = legM === 0 ? 0 : Math.min(1, (alongM - startM) / legM)
    return greatCirclePoint(path[leg - 1] ?? origin, path[leg] ?? origin, fraction)
  }
}

const origin: Point = { lat: 0, lon: 0 }

function legLengthM(path: readonly Point[], leg: number): number {
  const [start, end] = [path[leg - 1], path[leg]]
  return start && end ? distanceM(start, end) : 0
}

type Vector = [x: number, y: number, z: number]

function unitVector({ lat, lon }: Point): Vector {
  const ring = Math.cos(lat * radians)
  return [ring * Math.cos(lon * radians), ring * Math.sin(lon * radians), Math.sin(lat * radians)]
}

/** The point a fraction of the way along the great circle from one point to another (spherical interpolation). */
export function greatCirclePoint(a: Point, b: Point, fraction: number): Point {
  if (fraction <= 0) return { lat: a.lat, lon: a.lon }
  if (fraction >= 1) return { lat: b.lat, lon: b.lon }
  const [start, end] = [unitVector(a), unitVector(b)]
  const cosine = start[0] * end[0] + start[1] * end[1] + start[2] * end[2]
  const sine = Math.hypot(
    start[1] * end[2] - start[2] * end[1],
    start[2] * end[0] - start[0] * end[2],
    start[0] * end[1] - start[1] * end[0],
  )
  const angle = Math.atan2(sine, cosine)
  // Equal points have no direction; between antipodes every direction is right, and the weights below stay finite.
  if (sine < 1e-12) return { lat: a.lat, lon: a.lon }
  const [fromStart, fromEnd] = [Math.sin((1 - fraction) * angle) / sine, Math.sin(fraction * angle) / sine]
  const [x, y, z] = [0, 1, 2].map((axis) => fromStart * (start[axis] ?? 0) + fromEnd * (end[axis] ?? 0)) as Vector
  return { lat: Math.atan2(z, Math.hypot(x, y)) / radians, lon: Math.atan2(y, x) / radians }
}
