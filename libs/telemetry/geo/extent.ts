import { copyNumbers, createNumberList, type NumberList, reserveNumbers } from '#core/number-list'
import { convexHull } from './convex-hull.ts'
import { distanceBetween, fromPlane, longitudeDifference, normalizeLongitude, type Point, radians } from './geo.ts'

/**
 * Mean and outline of a set of points no more than a few kilometres apart, in bounded memory. The point farthest from
 * any centre is a corner of the convex hull, so the hull represents the points it encloses. `recent` points are not merged
 * into the hull yet. Both are latitudes and longitudes by turns, as offsets from the origin, so that the 180th meridian needs no
 * special case. Plain data that is copied with the state of a device.
 */
export type Extent = {
  originLat: number
  originLon: number
  count: number
  latOffsetSum: number
  lonOffsetSum: number
  hull: NumberList
  recent: NumberList
}

type Around = { count: number; mean: Point; radiusM: number }

/** Points are merged into the hull once there are as many as it has corners, so that adding a point is cheap. */
const fewestMerged = 64

export const createExtent = (): Extent => ({
  ...{ originLat: 0, originLon: 0, count: 0, latOffsetSum: 0, lonOffsetSum: 0 },
  hull: createNumberList(),
  recent: createNumberList(),
})

/** Makes the extent that of one point. */
export function startExtent(extent: Extent, lat: number, lon: number): void {
  extent.originLat = lat
  extent.originLon = lon
  extent.count = 1
  extent.latOffsetSum = 0
  extent.lonOffsetSum = 0
  extent.hull.length = 0
  extent.recent.length = 0
  pushOffset(extent.hull, 0, 0)
}

/**
 * Makes the extent that of `count` points of which only the mean and the distance of the farthest one are known. Four corners at
 * this distance represent them.
 */
export function startExtentAround(extent: Extent, origin: Point, { count, mean, radiusM: metres }: Around): void {
  const corners = [
    { northM: metres, eastM: 0 },
    { northM: 0, eastM: metres },
    { northM: -metres, eastM: 0 },
    { northM: 0, eastM: -metres },
  ]
  startExtent(extent, origin.lat, origin.lon)
  extent.count = count
  extent.latOffsetSum = (mean.lat - origin.lat) * count
  extent.lonOffsetSum = longitudeDifference(origin.lon, mean.lon) * count
  extent.hull.length = 0
  for (const { lat, lon } of metres === 0 ? [mean] : corners.map((corner) => fromPlane(mean, corner)))
    pushOffset(extent.hull, lat - origin.lat, longitudeDifference(origin.lon, lon))
}

function pushOffset(to: NumberList, lat: number, lon: number): void {
  reserveNumbers(to, 2)
  to.numbers[to.length] = lat
  to.numbers[to.length + 1] = lon
  to.length += 2
}

const pointCount = ({ length }: NumberList): number => length / 2

function pointsIn({ numbers, length }: NumberList): Point[] {
  const points: Point[] = []
  for (let at = 0; at < length; at += 2) points.push({ lat: numbers[at] as number, lon: numbers[at + 1] as number })
  return points
}

export function addPoint(extent: Extent, lat: number, lon: number): void {
  const { hull, recent } = extent
  const latOffset = lat - extent.originLat
  const lonOffset = longitudeDifference(extent.originLon, lon)
  extent.count += 1
  extent.latOffsetSum += latOffset
  extent.lonOffsetSum += lonOffset
  pushOffset(recent, latOffset, lonOffset)
  if (pointCount(recent) < Math.max(fewestMerged, pointCount(hull))) return
  const corners = convexHull([...pointsIn(hull), ...pointsIn(recent)])
  hull.length = 0
  recent.length = 0
  for (const corner of corners) pushOffset(hull, corner.lat, corner.lon)
}

export const meanLat = ({ originLat, latOffsetSum, count }: Extent): number => originLat + latOffsetSum / count

export const meanLon = ({ originLon, lonOffsetSum, count }: Extent): number =>
  normalizeLongitude(originLon + lonOffsetSum / count)

/**
 * The square of a distance in the plane is this much wrong at most, for points within 2 km and 85° of latitude: the cosine of the
 * latitude changes by 0.4 %.
 */
const planeErrorShare = 0.02
const mostPlaneLat = 85

/** Metres from the mean to the point farthest from it. */
export function radiusM(extent: Extent): number {
  const [lat, lon] = [meanLat(extent), meanLon(extent)]
  const scale = Math.abs(lat) > mostPlaneLat ? Number.NaN : Math.cos(lat * radians)
  // The plane finds the few points that may be the farthest: a distance on the sphere takes 50 times as long.
  const square = Math.max(farthestSquare(extent, extent.hull, scale), farthestSquare(extent, extent.recent, scale))
  const least = square * (1 - planeErrorShare)
  const ofHull = farthestM(extent, extent.hull, { lat, lon }, scale, least)
  return Math.max(ofHull, farthestM(extent, extent.recent, { lat, lon }, scale, least))
}

/** Square of a distance from the mean in degrees of latitude, by its offset. */
function squareAt(
  { latOffsetSum, lonOffsetSum, count }: Extent,
  points: NumberList,
  at: number,
  scale: number,
): number {
  const north = (points.numbers[at] as number) - latOffsetSum / count
  const east = ((points.numbers[at + 1] as number) - lonOffsetSum / count) * scale
  return north * north + east * east
}

function farthestSquare(extent: Extent, points: NumberList, scale: number): number {
  let farthest = 0
  for (let at = 0; at < points.length; at += 2) farthest = Math.max(farthest, squareAt(extent, points, at, scale))
  return farthest
}

/** The largest distance of the points whose square is at least this; of all if the plane says nothing (NaN). */
function farthestM(extent: Extent, points: NumberList, mean: Point, scale: number, leastSquare: number): number {
  let farthest = 0
  for (let at = 0; at < points.length; at += 2) {
    if (squareAt(extent, points, at, scale) < leastSquare) continue
    const lat = extent.originLat + (points.numbers[at] as number)
    const lon = normalizeLongitude(extent.originLon + (points.numbers[at + 1] as number))
    farthest = Math.max(farthest, distanceBetween(mean.lat, mean.lon, lat, lon))
  }
  return farthest
}

/** Makes `to` equal to `from`. */
export function copyExtent(from: Extent, to: Extent): void {
  const { hull, recent } = to
  Object.assign(to, from, { hull, recent })
  copyNumbers(from.hull, to.hull)
  copyNumbers(from.recent, to.recent)
}
