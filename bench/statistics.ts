/** The middle of the values; the mean of the two middle ones for an even count. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The value that a share of `percent` of the values does not exceed (nearest rank). */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}

/** Median of the ratios of paired rounds: a machine that slows down slows both of a pair. */
export const medianRatio = (above: readonly number[], below: readonly number[]): number =>
  median(above.map((value, round) => value / (below[round] ?? Number.NaN)))

const spread = (values: readonly number[]) => (Math.max(...values) - Math.min(...values)) / median(values)

/** "12,300 (±8 %)": the median and half the spread of the rounds. */
export const shown = (values: readonly number[], digits = 0): string =>
  `${median(values).toLocaleString('en', { maximumFractionDigits: digits })} (±${Math.round(spread(values) * 50)} %)`
