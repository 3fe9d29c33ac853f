type Point = readonly [x: number, y: number]

/** The part of a convex polygon inside the square from `from` to `to` (Sutherland and Hodgman); empty if there is none. */
export function clipped(ring: readonly Point[], from: number, to: number): Point[] {
  let points: Point[] = [...ring]
  for (const axis of [0, 1] as const) {
    points = clippedBy(points, (point) => point[axis] - from)
    points = clippedBy(points, (point) => to - point[axis])
  }
  return points.length < 3 ? [] : points
}

/** The part of a polygon where `inside` is positive or zero. `inside` must be linear. */
function clippedBy(ring: readonly Point[], inside: (point: Point) => number): Point[] {
  const kept: Point[] = []
  let before = ring.at(-1)
  for (const point of ring) {
    if (!before) break
    const [depthBefore, depth] = [inside(before), inside(point)]
    if (depthBefore < 0 !== depth < 0) kept.push(pointAt(before, point, depthBefore / (depthBefore - depth)))
    if (depth >= 0) kept.push(point)
    before = point
  }
  return kept
}

const pointAt = ([x, y]: Point, [toX, toY]: Point, fraction: number): Point => [
  x + (toX - x) * fraction,
  y + (toY - y) * fraction,
]
