/** Returns the median: the middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Returns the percentile by nearest rank. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}

/** Returns the median of the ratios of paired rounds. A slower machine affects both rounds of a pair. */
export const medianRatio = (above: readonly number[], below: readonly number[]): number =>
  median(above.map((value, round) => value / (below[round] ?? Number.NaN)))

const spread = (values: readonly number[]) => (Math.max(...values) - Math.min(...values)) / median(values)

/** Returns the median and half the spread of the rounds, for example "12,300 (±8 %)". */
export const shown = (values: readonly number[], digits = 0): string =>
  `${median(values).toLocaleString('en', { maximumFractionDigits: digits })} (±${Math.round(spread(values) * 50)} %)`
