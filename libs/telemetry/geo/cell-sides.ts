import { cellToBoundary } from 'h3-js'
import { degreeM, type Point, radians } from './geo.ts'

/**
 * The sides of a small H3 cell in the local plane of its first corner, to answer for most positions whether they are inside
 * without asking H3, which takes much longer.
 */
export type CellSides = { origin: Point; eastDegreeM: number; sides: Float64Array }

/** Closer to a side than this, H3 decides: its sides are not straight in this plane. */
const marginM = 1
/** Nearer to a pole or to the 180th meridian, the plane is not exact enough. */
const [maxLat, maxLon] = [80, 179.9]
const corners = 6

/** The sides of a cell of resolution 9 or finer. Undefined where H3 must decide. */
export function sidesOf(cell: string): CellSides | undefined {
  const boundary = cellToBoundary(cell)
  const [lat = 90, lon = 0] = boundary[0] ?? []
  // The others are pentagons, and cells across an edge of the icosahedron.
  if (boundary.length !== corners || Math.abs(lat) > maxLat || Math.abs(lon) > maxLon) return undefined
  const eastDegreeM = Math.cos(lat * radians) * degreeM
  const points = boundary.map(([pointLat = 0, pointLon = 0]) => ({
    x: (pointLon - lon) * eastDegreeM,
    y: (pointLat - lat) * degreeM,
  }))
  const middle = { x: sum(points.map(({ x }) => x)) / corners, y: sum(points.map(({ y }) => y)) / corners }
  const sides = new Float64Array(3 * corners)
  for (const [index, from] of points.entries()) {
    const to = points[(index + 1) % corners] ?? from
    const lengthM = Math.hypot(to.x - from.x, to.y - from.y)
    const [x, y] = [(from.y - to.y) / lengthM, (to.x - from.x) / lengthM]
    // Both normals are possible; this one points inside.
    const sign = x * (middle.x - from.x) + y * (middle.y - from.y) < 0 ? -1 : 1
    sides.set([sign * x, sign * y, sign * (x * from.x + y * from.y) + marginM], 3 * index)
  }
  return { origin: { lat, lon }, eastDegreeM, sides }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Whether the position is inside, and not near a side. */
export function isWellInside({ origin, eastDegreeM, sides }: CellSides, lat: number, lon: number): boolean {
  const x = (lon - origin.lon) * eastDegreeM
  const y = (lat - origin.lat) * degreeM
  for (let side = 0; side < sides.length; side += 3)
    if ((sides[side] as number) * x + (sides[side + 1] as number) * y < (sides[side + 2] as number)) return false
  return true
}
