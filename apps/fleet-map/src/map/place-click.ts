import { type AreaShape, type Bounds, boundsOf, unwrapBounds } from './surface.ts'

/**
 * Returns the id of the place that a click opens: the smallest of those under the pointer. A place that contains the whole view
 * does not count, because its outline is not visible and everything else on the map lies inside it.
 */
export function clickedPlace(under: readonly AreaShape[], view: Bounds): string | undefined {
  let smallest: { id: string; size: number } | undefined
  for (const { id, ring } of under) {
    const box = boundsOf(ring)
    if (!id || !box || contains(box, unwrapBounds(view, (box[0] + box[2]) / 2))) continue
    const size = (box[2] - box[0]) * (box[3] - box[1])
    if (!smallest || size < smallest.size) smallest = { id, size }
  }
  return smallest?.id
}

const contains = (outer: Bounds, [west, south, east, north]: Bounds): boolean =>
  outer[0] <= west && outer[1] <= south && outer[2] >= east && outer[3] >= north
