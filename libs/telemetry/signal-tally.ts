import { bestPlmn } from './coverage.ts'
import { type BinVotes, spreadOf } from './signal-mixture.ts'

/** Votes of one cell that agree in RAT, operator and RSRP; `rsrpBin` is in whole dBm. */
export type VoteGroup = { rat: string | null; plmn: string | null; rsrpBin: number | null; votes: number }

/** Votes of one RAT or operator. Only votes with service have an RSRP. A cell and its parts share the lists of `rsrp`. */
export type TalliedPart = { samples: number; inService: number; rsrp: BinVotes[] }

/** The votes of a cell, by RAT and operator. RATs are those with service; `rsrp` and `sinr` hold service votes only. */
export type SignalTally = TalliedPart & {
  sinr: BinVotes[]
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

/** Votes that agree in RAT and operator, with those of them that have an RSRP. */
export type OperatorVotes = { rat: string | null; plmn: string | null; votes: number; rsrp: BinVotes }

/** Adds votes to the tally of their cell. A vote without a RAT counts as RAT `unknown`, as in coverage. */
export function addVoteGroup(tally: SignalTally, { rat, plmn, rsrpBin, votes }: VoteGroup): void {
  addOperatorVotes(tally, { rat, plmn, votes, rsrp: rsrpBin === null ? [] : [rsrpBin, votes] })
}

/** `addVoteGroup` for all votes of a RAT and operator at once. */
export function addOperatorVotes(tally: SignalTally, { rat, plmn, votes, rsrp }: OperatorVotes): void {
  const inService = rat === noService ? 0 : votes
  const part = { samples: votes, inService, rsrp: inService > 0 && rsrp.length > 0 ? [rsrp] : [] }
  addToPart(tally, part)
  if (inService > 0) addToPart(partOf(tally.byRat, rat ?? unknownRat), part)
  if (plmn !== null) addToPart(partOf(tally.byPlmn, plmn), part)
}

/** Adds all votes of another cell. */
export function addTally(tally: SignalTally, other: SignalTally): void {
  addToPart(tally, other)
  for (const bins of other.sinr) tally.sinr.push(bins)
  for (const [rat, part] of other.byRat) addToPart(partOf(tally.byRat, rat), part)
  for (const [plmn, part] of other.byPlmn) addToPart(partOf(tally.byPlmn, plmn), part)
}

/** Adds service votes by their SINR. */
export function addSinrVotes(tally: SignalTally, sinr: BinVotes): void {
  if (sinr.length > 0) tally.sinr.push(sinr)
}

function partOf(parts: Map<string, TalliedPart>, key: string): TalliedPart {
  let part = parts.get(key)
  if (!part) {
    part = emptyPart()
    parts.set(key, part)
  }
  return part
}

function addToPart(part: TalliedPart, added: TalliedPart): void {
  part.samples += added.samples
  part.inService += added.inService
  for (const bins of added.rsrp) part.rsrp.push(bins)
}

/** The operator at least 3 dB better at the median than every other one, as in coverage; null if there is none. */
export const clearlyBestPlmn = ({ byPlmn }: SignalTally): string | null =>
  bestPlmn(
    [...byPlmn].map(([plmn, { inService, rsrp }]) => ({
      plmn,
      samples: inService,
      median: spreadOf([{ lists: rsrp, weight: 1 }]).p50,
    })),
  )
