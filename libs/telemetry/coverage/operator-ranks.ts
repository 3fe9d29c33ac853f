import { enoughVotes } from './dead-zones.ts'
import { type SignalSummary, type SignalVotes, summarizeSignal } from './signal-trend.ts'

export type RankedOperator = SignalSummary & { plmn: string }

/**
 * Ranks operators by their votes: the largest share with service first, of equal shares the strongest median, then the most votes.
 * Operators with fewer than five votes come last, because one vote says little.
 */
export function rankOperators(votes: readonly (SignalVotes & { plmn: string })[]): RankedOperator[] {
  const byPlmn = Map.groupBy(votes, ({ plmn }) => plmn)
  return [...byPlmn].map(([plmn, own]) => ({ plmn, ...summarizeSignal(own) })).sort(bestFirst)
}

const isKnown = ({ samples }: RankedOperator): number => Number(samples >= enoughVotes)

const bestFirst = (a: RankedOperator, b: RankedOperator): number =>
  isKnown(b) - isKnown(a) ||
  b.serviceRatio - a.serviceRatio ||
  (b.rsrpDbm.p50 ?? Number.NEGATIVE_INFINITY) - (a.rsrpDbm.p50 ?? Number.NEGATIVE_INFINITY) ||
  b.samples - a.samples ||
  (a.plmn < b.plmn ? -1 : 1)
