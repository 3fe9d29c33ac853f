import { addTo } from '#core/counts'
import { forEachInSlices, mapInSlices } from '#core/slices'
import {
  type CoverageCell as CellOfTally,
  coverageCell,
  emptyOperatorTally,
  emptyTally,
  hasService,
} from '#telemetry/coverage/coverage'
import type { SinrCount, VoteCount } from './coverage.ts'

/** A cell of the API. */
export type DatedCoverageCell = Omit<CellOfTally, 'lastAtMs'> & { lastAt: string }

/** Returns a cell for each H3 index with votes, computed in slices. `voters` has the number of devices per cell. */
export async function coverageCells(
  votes: Iterable<VoteCount>,
  sinrCounts: Iterable<SinrCount>,
  voters: ReadonlyMap<string, number>,
): Promise<DatedCoverageCell[]> {
  const tallies = new Map<string, ReturnType<typeof emptyTally>>()
  await forEachInSlices(votes, (vote) => {
    let tally = tallies.get(vote.h3)
    if (!tally) {
      tally = emptyTally(vote.h3)
      tallies.set(vote.h3, tally)
    }
    addCount(tally, vote)
  })
  await forEachInSlices(sinrCounts, ({ h3, sinrBin, votes }) => {
    const tally = tallies.get(h3)
    if (tally) addTo(tally.sinr, sinrBin, votes)
  })
  return mapInSlices(tallies.values(), (tally) => {
    const { lastAtMs, ...cell } = coverageCell({ ...tally, devices: { size: voters.get(tally.h3) ?? 0 } })
    return { ...cell, lastAt: new Date(lastAtMs).toISOString() }
  })
}

function addCount(tally: ReturnType<typeof emptyTally>, vote: VoteCount): void {
  tally.samples += vote.votes
  tally.lastAtMs = Math.max(tally.lastAtMs, vote.lastAtMs)
  addTo(tally.byRat, vote.rat ?? 'unknown', vote.votes)
  const operator = vote.plmn === null ? undefined : (tally.byPlmn.get(vote.plmn) ?? emptyOperatorTally())
  if (operator && vote.plmn !== null) {
    operator.samples += vote.votes
    tally.byPlmn.set(vote.plmn, operator)
  }
  if (!hasService(vote)) return
  tally.inService += vote.votes
  if (vote.rsrpBin !== null) addTo(tally.rsrp, vote.rsrpBin, vote.votes)
  if (!operator) return
  operator.inService += vote.votes
  if (vote.rsrpBin !== null) addTo(operator.rsrp, vote.rsrpBin, vote.votes)
}
