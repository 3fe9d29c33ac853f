/** The replicates of a bootstrap, and what they start from: the same cells always have the same interval. */
const replicates = 1_000
const seed = 0x9e3779b9

/** Numbers from 0 to 1, exclusive: Mulberry32, whose sequence follows from the seed. */
function createRandom(from: number): () => number {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32
  }
}

/** A number of the gamma distribution with a shape of at least 1 (Marsaglia and Tsang, 2000). */
function gamma(shape: number, random: () => number): number {
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const normal = Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
    const v = (1 + c * normal) ** 3
    if (v > 0 && Math.log(random()) < 0.5 * normal ** 2 + d - d * v + d * Math.log(v)) return d * v
  }
}

/** Where in sorted values of this count the middle two of as many draws are, as shares from 0 to 1: of each replicate, the upper one first. */
function drawMiddles(count: number, shares: Float64Array): void {
  const random = createRandom(seed)
  const half = (count >> 1) + 1
  for (let index = 0; index < replicates; index++) {
    const below = gamma(half, random)
    const upper = below / (below + gamma(count + 1 - half, random))
    shares[2 * index] = upper
    // Of the draws below the upper one of the middle two, the lower one is the largest.
    shares[2 * index + 1] = count % 2 === 1 ? upper : upper * random() ** (1 / (half - 1))
  }
}

/**
 * Returns a function for the 95 % interval of the median of sorted values by bootstrap. The k-th smallest of n draws is the value at n
 * times the k-th smallest of n uniform numbers, which has a beta distribution. So a replicate costs the same for ten cells and ten
 * thousand. The draws of the last count are kept, because they depend on nothing else: values of the same count follow each other.
 */
export function createMedianInterval(): (sorted: Float32Array) => { low: number; high: number } {
  const shares = new Float64Array(2 * replicates)
  const medians = new Float64Array(replicates)
  let drawnFor = 0
  return (sorted) => {
    const count = sorted.length
    if (count !== drawnFor) drawMiddles(count, shares)
    drawnFor = count
    const valueAt = (share: number) => sorted[Math.min(count - 1, Math.floor(share * count))] ?? 0
    for (let index = 0; index < replicates; index++)
      medians[index] = (valueAt(shares[2 * index] ?? 0) + valueAt(shares[2 * index + 1] ?? 0)) / 2
    medians.sort()
    const tail = Math.floor(0.025 * replicates)
    return { low: medians[tail] ?? 0, high: medians[replicates - 1 - tail] ?? 0 }
  }
}
