import { distanceM, earthRadiusM, type Point, radians } from './geo.ts'

/** Chords this close to the limit, relative to it, are decided by the distance itself. Rounding is a hundredth of it. */
const uncertainShare = 1e-9

/**
 * Keeps the newest run of points in order of arrival, with a fast check whether all later points are within `radiusM` of a
 * point. Points are unit vectors, compared by the square of their chord: the answers are those of
 * `distanceM` at a twentieth of its cost.
 */
export type NearbyPoints<P extends Point> = {
  readonly length: number
  at(index: number): P | undefined
  push(point: P): void
  /** Replaces the newest point by one at the same place. */
  replaceLast(point: P): void
  /** Forgets the first `count` points. */
  dropFirst(count: number): void
  /** Whether all points after the one at `index` are within its radius. */
  isCentreOfRest(index: number): boolean
  list(): P[]
}

const compactFrom = 1_024

export function createNearbyPoints<P extends Point>(radiusM: number): NearbyPoints<P> {
  const limit = (2 * Math.sin(radiusM / (2 * earthRadiusM))) ** 2
  const [surelyInside, surelyOutside] = [limit * (1 - uncertainShare), limit * (1 + uncertainShare)]
  let points: P[] = []
  /** x, y and z of each point. Not a typed array, because each device has a list, and most have few points. */
  let vectors: number[] = []
  let head = 0

  function compact(): void {
    vectors = vectors.slice(3 * head)
    points = points.slice(head)
    head = 0
  }

  function isBothInside(one: number, other: number): boolean {
    const [a, b] = [points[one], points[other]]
    return a !== undefined && b !== undefined && distanceM(a, b) <= radiusM
  }

  return {
    get length() {
      return points.length - head
    },
    at: (index) => points[head + index],
    push(point) {
      const [lat, lon] = [point.lat * radians, point.lon * radians]
      const cosLat = Math.cos(lat)
      points.push(point)
      vectors.push(cosLat * Math.cos(lon), cosLat * Math.sin(lon), Math.sin(lat))
    },
    replaceLast(point) {
      points[points.length - 1] = point
    },
    dropFirst(count) {
      head += count
      if (head === points.length || (head >= compactFrom && head >= points.length / 2)) compact()
    },
    isCentreOfRest(index) {
      const centre = head + index
      const [x, y, z] = [
        vectors[3 * centre] as number,
        vectors[3 * centre + 1] as number,
        vectors[3 * centre + 2] as number,
      ]
      // The newest first: it is the one that has just put an anchor next to this one out of reach.
      for (let other = points.length - 1; other > centre; other--) {
        const dx = (vectors[3 * other] as number) - x
        const dy = (vectors[3 * other + 1] as number) - y
        const dz = (vectors[3 * other + 2] as number) - z
        const chord = dx * dx + dy * dy + dz * dz
        if (chord > surelyOutside || (chord > surelyInside && !isBothInside(centre, other))) return false
      }
      return true
    },
    list: () => points.slice(head),
  }
}
