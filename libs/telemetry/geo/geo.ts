export type Point = { lat: number; lon: number }

/** minLon, minLat, maxLon, maxLat; minLon > maxLon spans the antimeridian. */
export type BoundingBox = readonly [minLon: number, minLat: number, maxLon: number, maxLat: number]

/** Whether a position is inside a box. −180 and 180 are one meridian. */
export const contains = ([minLon, minLat, maxLon, maxLat]: BoundingBox, lat: number, lon: number): boolean =>
  lat >= minLat &&
  lat <= maxLat &&
  (isBetween(minLon, maxLon, lon) || (Math.abs(lon) === 180 && isBetween(minLon, maxLon, -lon)))

const isBetween = (west: number, east: number, lon: number): boolean =>
  west <= east ? lon >= west && lon <= east : lon >= west || lon <= east

/** Mean radius of the Earth in metres (IUGG). */
export const earthRadiusM = 6_371_008.8
/** Radians of a degree. */
export const radians = Math.PI / 180
/** Metres of a degree of latitude. */
export const degreeM = earthRadiusM * radians

/** Degrees east from one longitude to another, −180 up to 180, the short way round. */
export function longitudeDifference(from: number, to: number): number {
  const difference = to - from
  if (difference > 180) return difference - 360
  return difference < -180 ? difference + 360 : difference
}

/** A longitude brought back into −180..180. */
export function normalizeLongitude(lon: number): number {
  if (lon >= -180 && lon <= 180) return lon
  const turned = (lon + 180) % 360
  return turned < 0 ? turned + 180 : turned - 180
}

/** Metres between two points on the sphere (haversine). */
export const distanceM = (a: Point, b: Point): number => distanceBetween(a.lat, a.lon, b.lat, b.lon)

/** `distanceM` for positions that are only numbers. */
export function distanceBetween(latA: number, lonA: number, latB: number, lonB: number): number {
  const sinLat = Math.sin(((latB - latA) * radians) / 2)
  const sinLon = Math.sin(((lonB - lonA) * radians) / 2)
  const chord = sinLat * sinLat + Math.cos(latA * radians) * Math.cos(latB * radians) * sinLon * sinLon
  return 2 * earthRadiusM * Math.asin(Math.min(1, Math.sqrt(chord)))
}

/** The point a fraction of the way from one point to another; straight in degrees, which is exact enough for 300 m. */
export function pointBetween(a: Point, b: Point, fraction: number): Point {
  return {
    lat: a.lat + (b.lat - a.lat) * fraction,
    lon: normalizeLongitude(a.lon + longitudeDifference(a.lon, b.lon) * fraction),
  }
}

/** A vector in the local plane of a point, in metres. */
export type PlaneVector = { eastM: number; northM: number }

/** The vector from one point to another in the local plane of the first, the short way round the globe. */
export const toPlane = (origin: Point, point: Point): PlaneVector => ({
  eastM: longitudeDifference(origin.lon, point.lon) * radians * Math.cos(origin.lat * radians) * earthRadiusM,
  northM: (point.lat - origin.lat) * radians * earthRadiusM,
})

/** The point at a vector in the local plane of `origin`. */
export const fromPlane = (origin: Point, { eastM, northM }: PlaneVector): Point => ({
  lat: Math.max(-90, Math.min(90, origin.lat + northM / (radians * earthRadiusM))),
  lon: normalizeLongitude(origin.lon + eastM / (radians * Math.cos(origin.lat * radians) * earthRadiusM)),
})

/** The direction of a vector in degrees clockwise from north, 0 up to 360. */
export function bearingDeg({ eastM, northM }: PlaneVector): number {
  const bearing = Math.atan2(eastM, northM) / radians
  return bearing < 0 ? bearing + 360 : bearing
}
