import { type LevelCounts, levels, lowestLevel } from './level-counts.ts'

/** Percentiles in dB or dBm; null where nothing was measured. */
export type Spread = { p10: number | null; p50: number | null; p90: number | null }

/** Votes of several cells by level, each of which counts with a weight. */
export type Mixture = {
  add(votes: LevelCounts, weight: number): void
  /** Returns the nearest-rank percentiles and empties the mixture. */
  take(): Spread
}

// Weights are sums of fractions: a rank may miss its level by rounding.
const rankTolerance = 1e-9

/** A mixture can be used many times. A forecast takes tens of thousands. */
export function createMixture(): Mixture {
  const weights = new Float64Array(levels)
  let [total, first, last] = [0, levels, -1]
  return {
    add({ counts, offset, first: from, last: to }, weight) {
      if (weight === 0) return
      for (let index = from; index <= to; index++) {
        const added = (counts[offset + index] ?? 0) * weight
        weights[index] = (weights[index] ?? 0) + added
        total += added
      }
      if (from < first) first = from
      if (to > last) last = to
    },
    take() {
      const spread: Spread = { p10: null, p50: null, p90: null }
      let reached = 0
      for (let index = first; index <= last; index++) {
        const weight = weights[index] ?? 0
        weights[index] = 0
        if (weight === 0) continue
        reached += weight
        const level = index + lowestLevel
        if (spread.p10 === null && reached >= 0.1 * total - rankTolerance) spread.p10 = level
        if (spread.p50 === null && reached >= 0.5 * total - rankTolerance) spread.p50 = level
        if (spread.p90 === null && reached >= 0.9 * total - rankTolerance) spread.p90 = level
      }
      ;[total, first, last] = [0, levels, -1]
      return spread
    },
  }
}
