/** Up to this count, insertion is faster than a sort with its view of the array. */
const maxInserted = 32

/** Sorts the first `count` values in place. */
export function sortFirst(values: Float64Array, count: number): void {
  if (count > maxInserted) {
    values.subarray(0, count).sort()
    return
  }
  for (let index = 1; index < count; index++) {
    const value = values[index] ?? 0
    let at = index
    for (; at > 0 && (values[at - 1] ?? 0) > value; at--) values[at] = values[at - 1] ?? 0
    values[at] = value
  }
}

/** The median of the first `count` values, at least one, in ascending order: the mean of the middle two if the count is even. */
export function sortedMedian(values: Float64Array | Float32Array, count: number): number {
  const half = count >> 1
  const upper = values[half] ?? 0
  return count % 2 === 1 ? upper : (upper + (values[half - 1] ?? 0)) / 2
}

/** The median of the first `count` values, at least one. Sorts them. */
export function medianOfFirst(values: Float64Array, count: number): number {
  sortFirst(values, count)
  return sortedMedian(values, count)
}

/** The median of values; NaN if there are none. */
export const medianOf = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : medianOfFirst(Float64Array.from(values), values.length)
