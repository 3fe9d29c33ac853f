import { unwrapLine } from './antimeridian.ts'
import { type BoundingBox, degreeM, distanceM, normalizeLongitude, type Point, radians } from './geo.ts'

type Position = readonly [lon: number, lat: number]

/** An area on the map. A polygon is a GeoJSON Polygon (RFC 7946) with one ring; its edges are straight in degrees. */
export type Area =
  | { type: 'Polygon'; coordinates: readonly (readonly Position[])[] }
  | { type: 'Circle'; lat: number; lon: number; radiusM: number }

/** The smallest and largest coordinates in degrees. Longitudes can be beyond ±180°. */
type Extent = { minX: number; maxX: number; minY: number; maxY: number }

/** The bounds of an area in both forms, and whether a point lies inside. */
export type AreaTest = { extent: Extent; bounds: BoundingBox; contains(point: Point): boolean }

/** The corners of a ring, with longitudes that do not jump and can be beyond ±180°. */
export const cornersOf = (ring: readonly Position[]): Position[] =>
  unwrapLine(ring.slice(0, -1)).map(([lon, lat]) => [lon, lat])

/** Returns what is wrong with the ring of a polygon, as one sentence, or undefined if it can be used. */
export function ringFault(ring: readonly Position[]): string | undefined {
  const [first, last] = [ring[0], ring.at(-1)]
  if (!first || !last || ring.length < 4) return 'A ring must have at least four positions.'
  if (first[0] !== last[0] || first[1] !== last[1]) return 'The last position of a ring must equal the first.'
  const corners = cornersOf(ring)
  const { minX, maxX } = extentOf(corners)
  if (maxX - minX >= 180) return 'A polygon must span less than 180 degrees of longitude.'
  if (Math.abs(doubleArea(corners)) < 1e-12) return 'The polygon has no area.'
  return crossesItself(corners) ? 'The edges of the polygon must not cross each other.' : undefined
}

/** Prepares an area for many points. A point on the boundary is inside, as in Postgres. */
export function areaTest(area: Area): AreaTest {
  return area.type === 'Circle' ? circleTest(area) : polygonTest(cornersOf(area.coordinates[0] ?? []))
}

function circleTest({ lat, lon, radiusM }: { lat: number; lon: number; radiusM: number }): AreaTest {
  const degrees = radiusM / degreeM
  const [minLat, maxLat] = [Math.max(-90, lat - degrees), Math.min(90, lat + degrees)]
  const sine = Math.sin(degrees * radians) / Math.cos(lat * radians)
  const isAroundPole = minLat === -90 || maxLat === 90 || !(Math.abs(sine) < 1)
  const halfWidth = isAroundPole ? 180 : Math.asin(sine) / radians
  const extent = { minX: lon - halfWidth, maxX: lon + halfWidth, minY: minLat, maxY: maxLat }
  const center = { lat, lon }
  return {
    extent,
    bounds: isAroundPole ? [-180, minLat, 180, maxLat] : boundsOf(extent),
    contains: (point) => point.lat >= minLat && point.lat <= maxLat && distanceM(center, point) <= radiusM,
  }
}

function polygonTest(corners: readonly Position[]): AreaTest {
  const extent = extentOf(corners)
  const { minX, maxX, minY, maxY } = extent
  return {
    extent,
    bounds: boundsOf(extent),
    contains({ lat, lon }) {
      if (lat < minY || lat > maxY) return false
      return [lon, lon + 360, lon - 360].some((x) => x >= minX && x <= maxX && isInRing(corners, x, lat))
    },
  }
}

/** Even-odd rule, for points that are on no edge. */
function isInRing(corners: readonly Position[], x: number, y: number): boolean {
  let isIn = false
  let before = corners.at(-1)
  for (const corner of corners) {
    if (before && isOnEdge(before, corner, x, y)) return true
    if (before && corner[1] > y !== before[1] > y) {
      const crossingX = corner[0] + ((y - corner[1]) / (before[1] - corner[1])) * (before[0] - corner[0])
      if (x < crossingX) isIn = !isIn
    }
    before = corner
  }
  return isIn
}

const isOnEdge = ([fromX, fromY]: Position, [toX, toY]: Position, x: number, y: number): boolean =>
  x >= Math.min(fromX, toX) &&
  x <= Math.max(fromX, toX) &&
  y >= Math.min(fromY, toY) &&
  y <= Math.max(fromY, toY) &&
  (toX - fromX) * (y - fromY) === (toY - fromY) * (x - fromX)

const boundsOf = ({ minX, maxX, minY, maxY }: Extent): BoundingBox => [
  normalizeLongitude(minX),
  minY,
  normalizeLongitude(maxX),
  maxY,
]

function extentOf(corners: readonly Position[]): Extent {
  const extent: Extent = { minX: Infinity, maxX: -Infinity, minY: Infinity, maxY: -Infinity }
  for (const [x, y] of corners) {
    extent.minX = Math.min(extent.minX, x)
    extent.maxX = Math.max(extent.maxX, x)
    extent.minY = Math.min(extent.minY, y)
    extent.maxY = Math.max(extent.maxY, y)
  }
  return extent
}

const edgesOf = (corners: readonly Position[]): [Position, Position][] =>
  corners.map((corner, index) => [corner, corners[(index + 1) % corners.length] ?? corner])

const doubleArea = (corners: readonly Position[]): number =>
  edgesOf(corners).reduce((sum, [a, b]) => sum + a[0] * b[1] - b[0] * a[1], 0)

function crossesItself(corners: readonly Position[]): boolean {
  const edges = edgesOf(corners)
  return edges.some(([a, b], index) => edges.slice(index + 1).some(([c, d]) => doCross(a, b, c, d)))
}

/** Whether the inner parts of two edges cross. Edges that only touch do not. */
const doCross = (a: Position, b: Position, c: Position, d: Position): boolean =>
  side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0

const side = (a: Position, b: Position, point: Position): number =>
  Math.sign((b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]))
