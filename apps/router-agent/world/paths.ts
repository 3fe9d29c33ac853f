import { degreeM, distanceM as distanceBetweenM, radians } from '#telemetry/geo/geo'
import { gaussian, uniform } from './noise.ts'
import type { City, PlacePoint } from './places.ts'

/** A polyline with the distance of each point from the start. `lengthM` is the distance of the last one. */
export type Path = { points: PlacePoint[]; chainageM: number[]; lengthM: number }

export type Spot = { lat: number; lon: number; headingDeg: number }

export const distanceM = ([lat, lon]: PlacePoint, [otherLat, otherLon]: PlacePoint): number =>
  distanceBetweenM({ lat, lon }, { lat: otherLat, lon: otherLon })

/** The point `northM` and `eastM` away. */
export const offset = ([lat, lon]: PlacePoint, northM: number, eastM: number): PlacePoint => [
  lat + northM / degreeM,
  lon + eastM / degreeM / Math.cos(lat * radians),
]

function measure(points: PlacePoint[]): Path {
  const chainageM: number[] = []
  let total = 0
  points.forEach((point, index) => {
    const before = points[index - 1]
    total += before ? distanceM(before, point) : 0
    chainageM.push(total)
  })
  return { points, chainageM, lengthM: total }
}

/**
 * Generates a road through the given towns. Halves each section repeatedly and moves its middle sideways by the share `bend`
 * of its length, which results in long curves and small bends.
 */
export function windThrough(through: readonly PlacePoint[], bend: number, seed: number, finestM = 120): Path {
  let points = [...through]
  for (let round = 0; ; round += 1) {
    const halved = points.flatMap((point, index) => {
      const next = points[index + 1]
      if (!next) return [point]
      const lengthM = distanceM(point, next)
      if (lengthM <= finestM) return [point]
      const share = bend * Math.min(1, 0.4 + lengthM / 20_000)
      const sidewaysM = lengthM * share * Math.max(-2, Math.min(2, gaussian(seed, round, index)))
      const north = (next[0] - point[0]) * degreeM
      const east = (next[1] - point[1]) * degreeM * Math.cos(point[0] * radians)
      const across = sidewaysM / Math.hypot(north, east)
      const middle: PlacePoint = [(point[0] + next[0]) / 2, (point[1] + next[1]) / 2]
      return [point, offset(middle, -east * across, north * across)]
    })
    if (halved.length === points.length) return measure(points)
    points = halved
  }
}

/** Generates a closed delivery route on the rotated street grid of a city. */
export function walkStreets(city: City, seed: number): Path {
  const turn = uniform(seed, 1) * 90 * radians
  const blockM = 180 + uniform(seed, 2) * 120
  const reach = Math.floor((city.radiusKm * 1_000) / blockM)
  const corners = Array.from({ length: 7 }, (_, index) => {
    const angle = (index / 7) * 2 * Math.PI + uniform(seed, 3, index)
    const radius = reach * (0.25 + 0.75 * uniform(seed, 4, index))
    return [Math.round(Math.cos(angle) * radius), Math.round(Math.sin(angle) * radius)] as const
  })
  const points: PlacePoint[] = []
  const visit = (north: number, east: number) => {
    const [northM, eastM] = [north * blockM, east * blockM]
    const [turnedNorth, turnedEast] = [
      northM * Math.cos(turn) - eastM * Math.sin(turn),
      northM * Math.sin(turn) + eastM * Math.cos(turn),
    ]
    points.push(offset(city.centre, turnedNorth, turnedEast))
  }
  let [north, east] = corners[0] ?? [0, 0]
  visit(north, east)
  for (const [index, [toNorth, toEast]] of [...corners.slice(1), corners[0] ?? [0, 0]].entries()) {
    // Alternates between both axes every few blocks, to follow the streets.
    for (let step = 0; north !== toNorth || east !== toEast; step += 1) {
      const blocks = 1 + Math.floor(uniform(seed, 5, index, step) * 5)
      const alongNorth = east === toEast || (north !== toNorth && step % 2 === 0)
      if (alongNorth) north += Math.sign(toNorth - north) * Math.min(blocks, Math.abs(toNorth - north))
      else east += Math.sign(toEast - east) * Math.min(blocks, Math.abs(toEast - east))
      visit(north, east)
    }
  }
  return measure(points)
}

/** The position and heading after `alongM` metres of the path. */
export function spotAt(path: Path, alongM: number): Spot {
  let low = 0
  let high = path.chainageM.length - 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((path.chainageM[middle] ?? 0) <= alongM) low = middle
    else high = middle
  }
  const from = path.points[low] ?? [0, 0]
  const to = path.points[high] ?? from
  const startM = path.chainageM[low] ?? 0
  const fraction = Math.max(0, Math.min(1, (alongM - startM) / Math.max(1, (path.chainageM[high] ?? 0) - startM)))
  const east = (to[1] - from[1]) * Math.cos(from[0] * radians)
  return {
    lat: from[0] + (to[0] - from[0]) * fraction,
    lon: from[1] + (to[1] - from[1]) * fraction,
    headingDeg: (Math.atan2(east, to[0] - from[0]) / radians + 360) % 360,
  }
}
