import { longitudeRanges, splitLine } from './antimeridian.ts'
import type { BoundingBox, Point } from './geo.ts'

type Position = readonly [lon: number, lat: number]

/** Whether a line, straight in degrees between its points, has a point in a box. Both may cross the antimeridian. */
export function touches(box: BoundingBox, line: readonly Point[]): boolean {
  const [, south, , north] = box
  const parts = splitLine(line.map(({ lat, lon }): Position => [lon, lat]))
  return longitudeRanges(box).some(([west, east]) =>
    parts.some((part) =>
      part.some(([lon, lat], index) => {
        const [fromLon = lon, fromLat = lat] = part[index - 1] ?? []
        return hasPointInside([fromLon, fromLat], [lon, lat], [west, south, east, north])
      }),
    ),
  )
}

/** Clips a segment to the box (Liang and Barsky); true if a part of it is left. */
function hasPointInside([x, y]: Position, [toX, toY]: Position, [west, south, east, north]: BoundingBox): boolean {
  const sides = [
    [toX - x, west - x, east - x],
    [toY - y, south - y, north - y],
  ] as const
  let [enters, leaves] = [0, 1]
  for (const [length, low, high] of sides) {
    if (length === 0) {
      if (low > 0 || high < 0) return false
      continue
    }
    const [first, second] = [low / length, high / length]
    enters = Math.max(enters, Math.min(first, second))
    leaves = Math.min(leaves, Math.max(first, second))
  }
  return enters <= leaves
}
