import { addTo } from '#core/counts'
import { totalVotes } from './level-counts.ts'
import { countMoments, type Moments, noMoments } from './moments.ts'
import { createMixture, type Spread } from './signal-mixture.ts'
import { isServed, type OperatorVotes, ratOf, type SignalTally } from './signal-tally.ts'

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

const mixture = createMixture()

/**
 * Expected signal at a point, from weighted histograms. For RSRP and SINR every vote of the finest cell counts, and
 * each coarser cell counts as one vote: it matters less, the more votes the finest cell has. Whether there is service
 * is decided the same way from the cell at index `base`, so that one vote without service never makes a dead zone.
 *
 * `moments` are those of the cells. The service ratio of all operators together is that of moments: a router with several modems has
 * service where one of them has.
 */
export function blendSignal(
  chain: CellChain,
  base: number,
  moments: readonly (Moments | undefined)[] = [],
): BlendedSignal {
  const byPlmn = new Map<string, BlendedPart>()
  for (const tally of chain) {
    if (!tally) continue
    for (const { plmn } of tally.groups) {
      if (plmn !== null && !byPlmn.has(plmn)) byPlmn.set(plmn, blendPart(chain, base, [], plmn))
    }
  }
  const whole = blendPart(chain, base, moments)
  return { ...whole, sinrDb: blendSinr(chain), byRat: blendRats(chain, base, whole.serviceRatio), byPlmn }
}

/** The weight of each vote of a cell that holds this many, at `level` of a chain in which the cell at `base` counts. */
function voteWeight(votes: number, level: number, base: number): number {
  if (level < base || votes === 0) return 0
  return level === base ? 1 : Math.min(1, coarserVotes / votes)
}

/** Blends the votes of an operator, or all votes with their moments. */
function blendPart(chain: CellChain, base: number, more: readonly (Moments | undefined)[], plmn?: string): BlendedPart {
  let [votes, served] = [0, 0]
  chain.forEach((tally, level) => {
    if (!tally) return
    let [samples, inService, measured] = [0, 0, 0]
    for (const group of tally.groups) {
      if (plmn !== undefined && group.plmn !== plmn) continue
      samples += group.votes
      if (isServed(group.rat)) inService += group.votes
      if (level > 0) measured += totalVotes(group.rsrp)
    }
    const { moments, dark } = countMoments({ samples, inService }, more[level] ?? noMoments)
    const weight = voteWeight(moments, level, base)
    votes += moments * weight
    served += (moments - dark) * weight
    // All measurements of the finest cell count, without being added up first.
    const levelWeight = level === 0 ? 1 : voteWeight(measured, level, 0)
    for (const group of tally.groups) {
      if (plmn === undefined || group.plmn === plmn) mixture.add(group.rsrp, levelWeight)
    }
  })
  return { serviceRatio: votes === 0 ? 0 : served / votes, rsrpDbm: mixture.take() }
}

function blendSinr(chain: CellChain): BlendedSignal['sinrDb'] {
  chain.forEach((tally, level) => {
    if (tally) mixture.add(tally.sinr, level === 0 ? 1 : voteWeight(totalVotes(tally.sinr), level, 0))
  })
  const { p10, p50 } = mixture.take()
  return { p10, p50 }
}

function blendRats(chain: CellChain, base: number, serviceRatio: number): BlendedSignal['byRat'] {
  const votesOf = new Map<string, number>()
  let total = 0
  chain.forEach((tally, level) => {
    if (!tally) return
    const weight = voteWeight(tally.inService, level, base)
    for (const group of tally.groups) {
      if (!isServed(group.rat)) continue
      addTo(votesOf, ratOf(group), group.votes * weight)
      total += group.votes * weight
    }
  })
  const blended: BlendedSignal['byRat'] = new Map()
  for (const [rat, votes] of votesOf) {
    if (votes > 0) blended.set(rat, { share: (votes / total) * serviceRatio, rsrpDbm: blendRatRsrp(chain, rat) })
  }
  return blended
}

function blendRatRsrp(chain: CellChain, rat: string): Spread {
  const sibling = siblings[rat]
  const weightOf = (group: OperatorVotes) => {
    if (!isServed(group.rat)) return 0
    const name = ratOf(group)
    return name === rat ? 1 : name === sibling ? siblingWeight : 0
  }
  chain.forEach((tally, level) => {
    if (!tally) return
    let measured = 0
    if (level > 0) for (const group of tally.groups) measured += totalVotes(group.rsrp) * weightOf(group)
    const weight = level === 0 ? 1 : voteWeight(measured, level, 0)
    for (const group of tally.groups) mixture.add(group.rsrp, weight * weightOf(group))
  })
  return mixture.take()
}
