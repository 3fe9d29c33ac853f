import { bestPlmn } from './coverage.ts'
import { addLevels, countLevel, emptyLevelCounts, type LevelCounts } from './level-counts.ts'
import { createMixture } from './signal-mixture.ts'

/** Votes of one cell that agree in RAT, operator and RSRP; `rsrpBin` is in whole dBm. */
export type VoteGroup = { rat: string | null; plmn: string | null; rsrpBin: number | null; votes: number }

/** Votes of one cell that agree in RAT and operator, with the levels of RSRP of those with service. */
export type OperatorVotes = { rat: string | null; plmn: string | null; votes: number; rsrp: LevelCounts }

/** The votes of a cell. A pair of RAT and operator occurs once. `sinr` has the levels of votes with service. */
export type SignalTally = { samples: number; inService: number; groups: OperatorVotes[]; sinr: LevelCounts }

const noService = 'none'
const unknownRat = 'unknown'

export const emptySignalTally = (): SignalTally => ({ samples: 0, inService: 0, groups: [], sinr: emptyLevelCounts() })

export const isServed = (rat: string | null): boolean => rat !== noService

/** The RAT under which votes with service are counted. Without a RAT it is `unknown`, as in coverage. */
export const ratOf = ({ rat }: OperatorVotes): string => rat ?? unknownRat

/** Adds votes of one level to the tally of their cell. */
export function addVoteGroup(tally: SignalTally, { rat, plmn, rsrpBin, votes }: VoteGroup): void {
  const { rsrp } = countVotes(tally, rat, plmn, votes)
  if (rsrpBin !== null && isServed(rat)) countLevel(rsrp, rsrpBin, votes)
}

/** Adds votes with service by their SINR in whole dB. */
export const addSinrVotes = (tally: SignalTally, sinrBin: number, votes: number): void =>
  countLevel(tally.sinr, sinrBin, votes)

/** Adds all votes of another cell. */
export function addTally(tally: SignalTally, other: SignalTally): void {
  for (const { rat, plmn, votes, rsrp } of other.groups) addLevels(countVotes(tally, rat, plmn, votes).rsrp, rsrp)
  addLevels(tally.sinr, other.sinr)
}

/** Counts votes without their levels, and returns their group. */
function countVotes(tally: SignalTally, rat: string | null, plmn: string | null, votes: number): OperatorVotes {
  let group = tally.groups.find((known) => known.rat === rat && known.plmn === plmn)
  if (!group) {
    group = { rat, plmn, votes: 0, rsrp: emptyLevelCounts() }
    tally.groups.push(group)
  }
  group.votes += votes
  tally.samples += votes
  if (isServed(rat)) tally.inService += votes
  return group
}

const mixture = createMixture()

/** The operator that is clearly better than every other one, as in coverage; null if there is none. */
export function clearlyBestPlmn({ groups }: SignalTally): string | null {
  const operators = [...new Set(groups.map(({ plmn }) => plmn))].filter((plmn) => plmn !== null)
  if (operators.length < 2) return null
  return bestPlmn(
    operators.map((plmn) => {
      let [samples, inService] = [0, 0]
      for (const group of groups) {
        if (group.plmn !== plmn) continue
        samples += group.votes
        if (!isServed(group.rat)) continue
        inService += group.votes
        mixture.add(group.rsrp, 1)
      }
      return { plmn, samples, inService, median: mixture.take().p50 }
    }),
  )
}
