import { addTo } from '#core/counts'
import { type BinVotes, massOf, type Spread, spreadOf } from './signal-mixture.ts'
import type { SignalTally, TalliedPart } from './signal-tally.ts'

/** The cells around one point, from the finest resolution to the coarsest; undefined where a cell has no votes. */
export type CellChain = readonly (SignalTally | undefined)[]

/** The expected signal of a RAT or operator at a point. */
type BlendedPart = { serviceRatio: number; rsrpDbm: Spread }

export type BlendedSignal = BlendedPart & {
  sinrDb: { p10: number | null; p50: number | null }
  /** `share` is the expected part of all votes, so that the shares of all RATs add up to the service ratio. */
  byRat: Map<string, { share: number; rsrpDbm: Spread }>
  byPlmn: Map<string, BlendedPart>
}

/** A cell with this many votes is described by them alone, without the coarser cells around it. */
export const votesThatStandAlone = 30

/** Total weight of a cell that is coarser than the base cell, in votes. */
const coarserVotes = 1

/**
 * On nr-nsa the measurements are those of the LTE anchor, so LTE and nr-nsa describe the same cells. A vote of one of
 * them counts half a vote for the other.
 */
const siblings: Readonly<Record<string, string>> = { lte: 'nr-nsa', 'nr-nsa': 'lte' }
const siblingWeight = 0.5

/** The weight of each vote of a cell that holds this many, at `level` of a chain in which the cell at `base` counts. */
function voteWeight(votes: number, level: number, base: number): number {
  if (level < base || votes === 0) return 0
  return level === base ? 1 : Math.min(1, coarserVotes / votes)
}

/** The weight of each RSRP or SINR of a cell. All those of the finest cell count, without being added up first. */
const levelWeight = (lists: readonly BinVotes[] | undefined, level: number): number =>
  level === 0 ? 1 : voteWeight(massOf(lists), level, 0)

/**
 * Expected signal at a point, from weighted histograms. For RSRP and SINR every vote of the finest cell counts, and
 * each coarser cell counts as one vote: it matters less, the more votes the finest cell has. Whether there is service
 * is decided the same way from the cell at index `base`, so that one vote without service never makes a dead zone.
 */
export function blendSignal(chain: CellChain, base: number): BlendedSignal {
  const byPlmn = new Map<string, BlendedPart>()
  for (const plmn of plmnsOf(chain)) {
    byPlmn.set(
      plmn,
      blendPart(
        chain.map((tally) => tally?.byPlmn.get(plmn)),
        base,
      ),
    )
  }
  const whole = blendPart(chain, base)
  const { p10, p50 } = spreadOf(
    chain.map((tally, level) => ({ lists: tally?.sinr, weight: levelWeight(tally?.sinr, level) })),
  )
  return { ...whole, sinrDb: { p10, p50 }, byRat: blendRats(chain, base, whole.serviceRatio), byPlmn }
}

function blendPart(parts: readonly (TalliedPart | undefined)[], base: number): BlendedPart {
  let [votes, served] = [0, 0]
  parts.forEach((part, level) => {
    if (!part) return
    const weight = voteWeight(part.samples, level, base)
    votes += part.samples * weight
    served += part.inService * weight
  })
  const rsrpDbm = spreadOf(parts.map((part, level) => ({ lists: part?.rsrp, weight: levelWeight(part?.rsrp, level) })))
  return { serviceRatio: votes === 0 ? 0 : served / votes, rsrpDbm }
}

function blendRats(chain: CellChain, base: number, serviceRatio: number): BlendedSignal['byRat'] {
  const votesOf = new Map<string, number>()
  let total = 0
  chain.forEach((tally, level) => {
    if (!tally) return
    const weight = voteWeight(tally.inService, level, base)
    for (const [rat, { samples }] of tally.byRat) {
      addTo(votesOf, rat, samples * weight)
      total += samples * weight
    }
  })
  return new Map(
    [...votesOf]
      .filter(([, votes]) => votes > 0)
      .map(([rat, votes]) => [rat, { share: (votes / total) * serviceRatio, rsrpDbm: blendRatRsrp(chain, rat) }]),
  )
}

function blendRatRsrp(chain: CellChain, rat: string): Spread {
  const sibling = siblings[rat]
  return spreadOf(
    chain.flatMap((tally, level) => {
      const own = tally?.byRat.get(rat)?.rsrp
      const other = sibling === undefined ? undefined : tally?.byRat.get(sibling)?.rsrp
      const weight = level === 0 ? 1 : voteWeight(massOf(own) + massOf(other) * siblingWeight, level, 0)
      return [
        { lists: own, weight },
        { lists: other, weight: weight * siblingWeight },
      ]
    }),
  )
}

function plmnsOf(chain: CellChain): Set<string> {
  const plmns = new Set<string>()
  for (const tally of chain) if (tally) for (const plmn of tally.byPlmn.keys()) plmns.add(plmn)
  return plmns
}
