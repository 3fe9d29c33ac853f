import type { TimeRange } from '#telemetry/position/device-alignment'

const maxDirtyRanges = 16

/**
 * Returns the ranges with `added` included. The result is disjoint and has at most 16 ranges: above that, the two ranges
 * with the smallest gap between them are joined.
 */
export function addDirtyRange(ranges: readonly TimeRange[], added: TimeRange): TimeRange[] {
  let merged = added
  const disjoint = ranges.filter((range) => {
    const isDisjoint = range.toMs < merged.fromMs || range.fromMs > merged.toMs
    if (!isDisjoint) merged = hull(range, merged)
    return isDisjoint
  })
  disjoint.push(merged)
  return disjoint.length > maxDirtyRanges ? withClosestJoined(disjoint) : disjoint
}

function withClosestJoined(ranges: readonly TimeRange[]): TimeRange[] {
  const sorted = [...ranges].sort((a, b) => a.fromMs - b.fromMs)
  let [closest, smallestGapMs] = [1, Number.POSITIVE_INFINITY]
  for (let index = 1; index < sorted.length; index++) {
    const gapMs = (sorted[index]?.fromMs ?? 0) - (sorted[index - 1]?.toMs ?? 0)
    if (gapMs < smallestGapMs) [closest, smallestGapMs] = [index, gapMs]
  }
  return [
    ...sorted.slice(0, closest - 1),
    sorted.slice(closest - 1, closest + 1).reduce(hull),
    ...sorted.slice(closest + 1),
  ]
}

const hull = (a: TimeRange, b: TimeRange): TimeRange => ({
  fromMs: Math.min(a.fromMs, b.fromMs),
  toMs: Math.max(a.toMs, b.toMs),
})
