/** Votes by whole dB as a flat list: bin, votes, bin, votes, … A bin may occur several times: appending is the cheapest count. */
export type BinVotes = number[]

/** Percentiles in dB or dBm; null where nothing was measured. */
export type Spread = { p10: number | null; p50: number | null; p90: number | null }

// Weights are sums of fractions: a rank may miss its bin by rounding.
const rankTolerance = 1e-9
// All accepted RSRP and SINR values lie in this range. Others count as the nearest of the two.
const [lowestBin, highestBin] = [-160, 60]

/** How many votes a list holds. */
export function massOf(bins: BinVotes | undefined): number {
  let mass = 0
  if (bins) for (let index = 1; index < bins.length; index += 2) mass += bins[index] ?? 0
  return mass
}

/** Collects weighted votes and returns the nearest-rank percentiles of their sum. */
export function createMixture() {
  const weights = new Float64Array(highestBin - lowestBin + 1)
  let total = 0
  let [first, last] = [weights.length, -1]
  const percentile = (share: number): number | null => {
    let reached = 0
    for (let index = first; index <= last; index++) {
      const weight = weights[index] ?? 0
      reached += weight
      if (weight > 0 && reached >= share * total - rankTolerance) return index + lowestBin
    }
    return last < 0 ? null : last + lowestBin
  }
  return {
    add(bins: BinVotes | undefined, weight: number): void {
      if (!bins || weight === 0) return
      for (let at = 0; at < bins.length; at += 2) {
        const index = Math.min(highestBin, Math.max(lowestBin, bins[at] ?? 0)) - lowestBin
        const added = (bins[at + 1] ?? 0) * weight
        weights[index] = (weights[index] ?? 0) + added
        total += added
        if (index < first) first = index
        if (index > last) last = index
      }
    },
    spread: (): Spread => ({ p10: percentile(0.1), p50: percentile(0.5), p90: percentile(0.9) }),
  }
}
