import { votesThatStandAlone } from './signal-blend.ts'
import { addTally, emptySignalTally, type SignalTally } from './signal-tally.ts'

/** The cells around a point, from the finest resolution to the coarsest. */
export type Chain = readonly string[]

/**
 * Adds up the cells of chains from parts that have no vote in common. `parts` has the votes of each cell that are in no
 * finer cell of any chain. Returns the tally of every finest cell, and of the coarser cells where the finest one is not
 * sufficient for a forecast.
 */
export function chainTallies(
  chains: readonly Chain[],
  parts: ReadonlyMap<string, SignalTally>,
): Map<string, SignalTally> {
  const tallies = new Map<string, SignalTally>()
  const partsOf = new Map<string, Set<string>>()
  for (const [finest = '', ...coarser] of chains) {
    const tally = parts.get(finest) ?? emptySignalTally()
    tallies.set(finest, tally)
    if (tally.samples < votesThatStandAlone) for (const h3 of coarser) partsOf.set(h3, new Set())
  }
  for (const chain of chains) {
    chain.forEach((h3, level) => {
      const within = level > 0 && partsOf.get(h3)
      if (within) for (const part of chain.slice(0, level + 1)) within.add(part)
    })
  }
  for (const [h3, within] of partsOf) {
    const tally = emptySignalTally()
    for (const part of within) {
      const added = parts.get(part)
      if (added) addTally(tally, added)
    }
    tallies.set(h3, tally)
  }
  return tallies
}
