import { bestPlmn } from './coverage.ts'
import { type BinVotes, createMixture } from './signal-mixture.ts'

/** Votes of one cell that agree in RAT, operator and RSRP; `rsrpBin` is in whole dBm. */
export type VoteGroup = { rat: string | null; plmn: string | null; rsrpBin: number | null; votes: number }

/** Votes of one RAT or operator. Only votes with service have an RSRP. */
export type TalliedPart = { samples: number; inService: number; rsrp: BinVotes }

/** The votes of a cell, by RAT and operator. RATs are those with service; `rsrp` and `sinr` hold service votes only. */
export type SignalTally = TalliedPart & {
  sinr: BinVotes
  byRat: Map<string, TalliedPart>
  byPlmn: Map<string, TalliedPart>
}

const emptyPart = (): TalliedPart => ({ samples: 0, inService: 0, rsrp: [] })

export const emptySignalTally = (): SignalTally => ({
  ...emptyPart(),
  sinr: [],
  byRat: new Map(),
  byPlmn: new Map(),
})

const noService = 'none'
const unknownRat = 'unknown'

/** Adds votes to the tally of their cell. A vote without a RAT counts as RAT `unknown`, as in coverage. */
export function addVoteGroup(tally: SignalTally, group: VoteGroup): void {
  const isServed = group.rat !== noService
  addToPart(tally, group, isServed)
  if (isServed) addToPart(partOf(tally.byRat, group.rat ?? unknownRat), group, true)
  if (group.plmn !== null) addToPart(partOf(tally.byPlmn, group.plmn), group, isServed)
}

/** Adds service votes with this SINR in whole dB. */
export function addSinrVotes(tally: SignalTally, sinrBin: number, votes: number): void {
  tally.sinr.push(sinrBin, votes)
}

function partOf(parts: Map<string, TalliedPart>, key: string): TalliedPart {
  let part = parts.get(key)
  if (!part) {
    part = emptyPart()
    parts.set(key, part)
  }
  return part
}

function addToPart(part: TalliedPart, { rsrpBin, votes }: VoteGroup, isServed: boolean): void {
  part.samples += votes
  if (!isServed) return
  part.inService += votes
  if (rsrpBin !== null) part.rsrp.push(rsrpBin, votes)
}

/** The operator at least 3 dB better at the median than every other one, as in coverage; null if there is none. */
export const clearlyBestPlmn = ({ byPlmn }: SignalTally): string | null =>
  bestPlmn(
    [...byPlmn].map(([plmn, { inService, rsrp }]) => {
      const mixture = createMixture()
      mixture.add(rsrp, 1)
      return { plmn, samples: inService, median: mixture.spread().p50 }
    }),
  )
