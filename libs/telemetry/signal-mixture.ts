/** Votes by whole dB as a flat list: bin, votes, bin, votes, … A bin may occur several times. */
export type BinVotes = readonly number[]

/** Percentiles in dB or dBm; null where nothing was measured. */
export type Spread = { p10: number | null; p50: number | null; p90: number | null }

/** Lists of votes, each of which counts `weight`. */
export type WeightedVotes = { lists: readonly BinVotes[] | undefined; weight: number }

// Weights are sums of fractions: a rank may miss its bin by rounding.
const rankTolerance = 1e-9
// All accepted RSRP and SINR values lie in this range. Others count as the nearest of the two.
const [lowestBin, highestBin] = [-160, 60]
// Only used within `spreadOf`, which leaves zeros. A forecast makes tens of thousands of mixtures.
const weights = new Float64Array(highestBin - lowestBin + 1)

/** How many votes the lists hold. */
export function massOf(lists: readonly BinVotes[] | undefined): number {
  let mass = 0
  if (lists) for (const bins of lists) for (let at = 1; at < bins.length; at += 2) mass += bins[at] ?? 0
  return mass
}

/** The nearest-rank percentiles of weighted votes. */
export function spreadOf(votes: readonly WeightedVotes[]): Spread {
  let total = 0
  let [first, last] = [weights.length, -1]
  for (const { lists, weight } of votes) {
    if (!lists || weight === 0) continue
    for (const bins of lists) {
      for (let at = 0; at < bins.length; at += 2) {
        const index = Math.min(highestBin, Math.max(lowestBin, bins[at] ?? 0)) - lowestBin
        const added = (bins[at + 1] ?? 0) * weight
        weights[index] = (weights[index] ?? 0) + added
        total += added
        if (index < first) first = index
        if (index > last) last = index
      }
    }
  }
  const spread: Spread = { p10: null, p50: null, p90: null }
  let reached = 0
  for (let index = first; index <= last; index++) {
    const weight = weights[index] ?? 0
    weights[index] = 0
    if (weight === 0) continue
    reached += weight
    const bin = index + lowestBin
    if (spread.p10 === null && reached >= 0.1 * total - rankTolerance) spread.p10 = bin
    if (spread.p50 === null && reached >= 0.5 * total - rankTolerance) spread.p50 = bin
    if (spread.p90 === null && reached >= 0.9 * total - rankTolerance) spread.p90 = bin
  }
  return spread
}
