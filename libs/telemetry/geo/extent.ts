import { convexHull } from './convex-hull.ts'
import { distanceM, fromPlane, longitudeDifference, normalizeLongitude, type Point } from './geo.ts'

/**
 * Mean and outline of a set of points no more than a few kilometres apart, in bounded memory. The point farthest from
 * any centre is a corner of the convex hull, so the hull represents the points it encloses. `recent` points are not merged
 * into the hull yet. Plain data that is copied with the state of a device.
 */
export type Extent = {
  origin: Point
  count: number
  latOffsetSum: number
  lonOffsetSum: number
  hull: Point[]
  recent: Point[]
}

type Around = { count: number; mean: Point; radiusM: number }

/** Points are merged into the hull once there are as many as it has corners, so that adding a point is cheap. */
const fewestMerged = 64

export const extentOf = (origin: Point): Extent => ({
  origin: { lat: origin.lat, lon: origin.lon },
  count: 1,
  latOffsetSum: 0,
  lonOffsetSum: 0,
  hull: [{ lat: 0, lon: 0 }],
  recent: [],
})

/**
 * Returns an extent of `count` points of which only the mean and the distance of the farthest one are known. Four corners at
 * this distance represent them.
 */
export function extentAround(origin: Point, { count, mean, radiusM: metres }: Around): Extent {
  const offsetTo = ({ lat, lon }: Point): Point => ({
    lat: lat - origin.lat,
    lon: longitudeDifference(origin.lon, lon),
  })
  const corners = [
    { northM: metres, eastM: 0 },
    { northM: 0, eastM: metres },
    { northM: -metres, eastM: 0 },
    { northM: 0, eastM: -metres },
  ]
  const offset = offsetTo(mean)
  return {
    origin: { lat: origin.lat, lon: origin.lon },
    count,
    latOffsetSum: offset.lat * count,
    lonOffsetSum: offset.lon * count,
    hull: metres === 0 ? [offset] : corners.map((corner) => offsetTo(fromPlane(mean, corner))),
    recent: [],
  }
}

export const copyOfExtent = (extent: Extent): Extent => ({
  ...extent,
  hull: [...extent.hull],
  recent: [...extent.recent],
})

/** Adds a point. Points are offsets from the first one, so that the 180th meridian needs no special case. */
export function addPoint(extent: Extent, { lat, lon }: Point): void {
  const offset = { lat: lat - extent.origin.lat, lon: longitudeDifference(extent.origin.lon, lon) }
  extent.count += 1
  extent.latOffsetSum += offset.lat
  extent.lonOffsetSum += offset.lon
  extent.recent.push(offset)
  if (extent.recent.length < Math.max(fewestMerged, extent.hull.length)) return
  extent.hull = convexHull([...extent.hull, ...extent.recent])
  extent.recent = []
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
  const farthest = (radius: number, corner: Point) =>
    Math.max(radius, distanceM(middle, absolute(extent.origin, corner)))
  return extent.recent.reduce(farthest, extent.hull.reduce(farthest, 0))
}
