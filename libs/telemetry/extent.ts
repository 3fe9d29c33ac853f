import { distanceM, longitudeDifference, normalizeLongitude, type Point } from './geo.ts'

/**
 * Mean and outline of a set of points no more than a few kilometres apart, in bounded memory: the point farthest from
 * any centre is a corner of the convex hull, so the hull stands in for all the points it encloses.
 */
export type Extent = { origin: Point; count: number; latOffsetSum: number; lonOffsetSum: number; hull: Point[] }

export const extentOf = (origin: Point): Extent => ({
  origin: { lat: origin.lat, lon: origin.lon },
  count: 1,
  latOffsetSum: 0,
  lonOffsetSum: 0,
  hull: [{ lat: 0, lon: 0 }],
})

/** The extent with one more point. Points are kept as offsets from the first, so that 180° is no edge. */
export function extend(extent: Extent, { lat, lon }: Point): Extent {
  const offset = { lat: lat - extent.origin.lat, lon: longitudeDifference(extent.origin.lon, lon) }
  return {
    origin: extent.origin,
    count: extent.count + 1,
    latOffsetSum: extent.latOffsetSum + offset.lat,
    lonOffsetSum: extent.lonOffsetSum + offset.lon,
    hull: convexHull([...extent.hull, offset]),
  }
}

const absolute = (origin: Point, offset: Point): Point => ({
  lat: origin.lat + offset.lat,
  lon: normalizeLongitude(origin.lon + offset.lon),
})

/** Mean of the points. */
export const centre = ({ origin, count, latOffsetSum, lonOffsetSum }: Extent): Point =>
  absolute(origin, { lat: latOffsetSum / count, lon: lonOffsetSum / count })

/** Metres from the mean to the point farthest from it. */
export function radiusM(extent: Extent): number {
  const middle = centre(extent)
  return extent.hull.reduce((radius, corner) => Math.max(radius, distanceM(middle, absolute(extent.origin, corner))), 0)
}

const turn = (a: Point, b: Point, c: Point) => (b.lon - a.lon) * (c.lat - a.lat) - (b.lat - a.lat) * (c.lon - a.lon)

function halfHull(points: readonly Point[]): Point[] {
  const chain: Point[] = []
  for (const point of points) {
    for (
      let [a, b] = chain.slice(-2);
      a !== undefined && b !== undefined && turn(a, b, point) <= 0;
      [a, b] = chain.slice(-2)
    ) {
      chain.pop()
    }
    chain.push(point)
  }
  return chain.slice(0, -1)
}

/** Andrew's monotone chain. */
function convexHull(points: Point[]): Point[] {
  const sorted = points.sort((a, b) => a.lon - b.lon || a.lat - b.lat)
  const distinct = sorted.filter((point, index) => {
    const before = sorted[index - 1]
    return before === undefined || before.lon !== point.lon || before.lat !== point.lat
  })
  if (distinct.length < 3) return distinct
  return [...halfHull(distinct), ...halfHull(distinct.toReversed())]
}
