import { levels, lowestLevel, noIndexes, noLevel } from '#telemetry/coverage/level-counts'
import { isServed, type OperatorVotes, type SignalTally } from '#telemetry/coverage/signal-tally'

/** The cells of resolution 10 in a cell of resolution 7: three digits from 0 to 6, of three bits each. */
export const childCells = 512
// An H3 index has the digits of resolutions 8 to 10 from bit 15 on, and the packed number from bit 16 on.
const childMask = (childCells - 1) * 2 ** 15
const votesFactor = childCells * levels ** 2

/**
 * The stored row of a vote as one number, as SQL: votes · 2^25 + digits of its cell below resolution 7 · 2^16 + RSRP · 2^8 +
 * SINR, where a level is 0 if it is missing.
 */
export const packedRow = `(votes * ${votesFactor} + (h3_10 & ${childMask}) * 2
                   + coalesce(rsrp_bin::int - ${lowestLevel}, ${noLevel}) * ${levels}
                   + coalesce(sinr_bin::int - ${lowestLevel}, ${noLevel}))::varchar`

/** The votes of one RAT and operator. */
type Operator = Pick<OperatorVotes, 'rat' | 'plmn'>

/** Packed rows added up by place and operator. Places are numbered by the caller. */
export type VoteTable = {
  /** Empties the table, for this many places and operators. The tallies of before are no longer valid. */
  clear(places: number, operators: readonly Operator[]): void
  /** Adds the rows of a text, which are separated by spaces. `placeOf` has a place for the digits of each cell. */
  add(operator: number, text: string, placeOf: Uint16Array): void
  /** The votes of a place, which use the memory of the table; undefined without votes. */
  tally(place: number): SignalTally | undefined
}

const space = ' '.charCodeAt(0)
const zero = '0'.charCodeAt(0)

/** The table keeps its memory, because a route has hundreds of thousands of rows. */
export function createVoteTable(): VoteTable {
  let operators: readonly Operator[] = []
  let places = 0
  // Each place has a slot for each operator, and one for the SINR of all.
  let slots = 0
  let counts = new Float64Array(0)
  let [votesOf, firstOf, lastOf] = [new Float64Array(0), new Uint16Array(0), new Uint16Array(0)]
  let bytes = Buffer.alloc(0)

  function count(slot: number, level: number, votes: number): void {
    const index = slot * levels + level
    counts[index] = (counts[index] ?? 0) + votes
    if (level < (firstOf[slot] ?? 0)) firstOf[slot] = level
    if (level > (lastOf[slot] ?? 0)) lastOf[slot] = level
  }

  const levelsOf = (slot: number) => ({
    ...{ counts, offset: slot * levels },
    ...{ first: firstOf[slot] ?? noIndexes.first, last: lastOf[slot] ?? noIndexes.last },
  })

  return {
    clear(placeCount, named) {
      for (let slot = 0; slot < slots; slot++) {
        counts.fill(0, slot * levels + (firstOf[slot] ?? 0), slot * levels + (lastOf[slot] ?? 0) + 1)
      }
      ;[places, operators, slots] = [placeCount, named, placeCount * (named.length + 1)]
      if (slots > votesOf.length) {
        counts = new Float64Array(slots * levels)
        ;[votesOf, firstOf, lastOf] = [new Float64Array(slots), new Uint16Array(slots), new Uint16Array(slots)]
      }
      votesOf.fill(0, 0, slots)
      firstOf.fill(noIndexes.first, 0, slots)
      lastOf.fill(noIndexes.last, 0, slots)
    },
    add(operator, text, placeOf) {
      // Bytes are read several times faster than the characters of a string.
      if (text.length > bytes.length) bytes = Buffer.alloc(text.length)
      const length = bytes.write(text, 'latin1')
      const served = isServed(operators[operator]?.rat ?? null)
      const [first, sinrFirst] = [operator * places, operators.length * places]
      let row = 0
      for (let at = 0; at <= length; at++) {
        const byte = at < length ? (bytes[at] ?? space) : space
        if (byte !== space) {
          row = row * 10 + byte - zero
          continue
        }
        const votes = Math.floor(row / votesFactor)
        // A small integer: digits of the cell, RSRP and SINR.
        const rest = row - votes * votesFactor
        const place = placeOf[rest >> 16] ?? 0
        const [rsrp, sinr] = [(rest >> 8) & (levels - 1), rest & (levels - 1)]
        votesOf[first + place] = (votesOf[first + place] ?? 0) + votes
        if (served && rsrp !== noLevel) count(first + place, rsrp, votes)
        if (served && sinr !== noLevel) count(sinrFirst + place, sinr, votes)
        row = 0
      }
    },
    tally(place) {
      let [samples, inService] = [0, 0]
      const groups: OperatorVotes[] = []
      operators.forEach(({ rat, plmn }, operator) => {
        const slot = operator * places + place
        const votes = votesOf[slot] ?? 0
        if (votes === 0) return
        samples += votes
        if (isServed(rat)) inService += votes
        groups.push({ rat, plmn, votes, rsrp: levelsOf(slot) })
      })
      return samples > 0 ? { samples, inService, groups, sinr: levelsOf(operators.length * places + place) } : undefined
    },
  }
}
