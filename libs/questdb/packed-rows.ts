import type { BinVotes } from '#telemetry/signal-mixture'

// Makes all levels positive. The accepted levels of RSRP and SINR are within -156 and 40 dB.
const levelOffset = 161
const levels = 256
/** The cells of resolution 10 in a cell of resolution 7: three digits from 0 to 6, of three bits each. */
export const childCells = 512
// An H3 index has the digits of resolutions 8 to 10 from bit 15 on, and the packed number from bit 16 on.
const childMask = (childCells - 1) * 2 ** 15
// More than the cells of all resolutions from 7 to 10 in a cell of resolution 7.
const maxPlaces = 512
const votesFactor = childCells * levels ** 2

/**
 * The stored row of a vote as one number, as SQL: votes · 2^25 + digits of its cell below resolution 7 · 2^16 + RSRP · 2^8 +
 * SINR, where a level is 0 if it is missing.
 */
export const packedRow = `(votes * ${votesFactor} + (h3_10 & ${childMask}) * 2
                   + coalesce(rsrp_bin::int + ${levelOffset}, 0) * ${levels}
                   + coalesce(sinr_bin::int + ${levelOffset}, 0))::varchar`

/** The votes of rows, by whole dB. */
export type UnpackedRows = { votes: number; rsrp: BinVotes; sinr: BinVotes }

/** Adds up the rows of a text by place and calls `add` for each place. */
export type Unpack = (text: string, placeOf: Uint16Array, add: (place: number, unpacked: UnpackedRows) => void) => void

/**
 * Returns a function that adds up packed rows, which are separated by spaces. `placeOf` has a place for the digits of each
 * cell. The function reuses its memory, because a route has hundreds of thousands of rows.
 */
export function createUnpacker(): Unpack {
  const [rsrpVotes, sinrVotes] = [createLevelVotes(), createLevelVotes()]
  const rows: number[] = []
  // The rows of a place are a linked list: 1 + the index of its last row, and of the row before each.
  const lastOf = new Int32Array(maxPlaces)
  const before: number[] = []
  const used: number[] = []

  function addRow(row: number, count: number, placeOf: Uint16Array): void {
    const place = placeOf[Math.floor(row / levels ** 2) % childCells] ?? 0
    const last = lastOf[place] ?? 0
    if (last === 0) used.push(place)
    rows[count] = row
    before[count] = last
    lastOf[place] = count + 1
  }

  function takePlace(place: number): UnpackedRows {
    let votes = 0
    for (let next = lastOf[place] ?? 0; next > 0; next = before[next - 1] ?? 0) {
      const row = rows[next - 1] ?? 0
      const rowVotes = Math.floor(row / votesFactor)
      // The levels are in the low bits of the rest, which is a small integer.
      const rest = row - rowVotes * votesFactor
      rsrpVotes.add((rest >> 8) & (levels - 1), rowVotes)
      sinrVotes.add(rest & (levels - 1), rowVotes)
      votes += rowVotes
    }
    lastOf[place] = 0
    return { votes, rsrp: rsrpVotes.take(), sinr: sinrVotes.take() }
  }

  return (text, placeOf, add) => {
    // Bytes are read several times faster than the characters of a string.
    const bytes = Buffer.from(text, 'latin1')
    let [count, row] = [0, 0]
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (byte !== space) {
        row = row * 10 + byte - zero
        continue
      }
      addRow(row, count, placeOf)
      count++
      row = 0
    }
    addRow(row, count, placeOf)
    for (const place of used) add(place, takePlace(place))
    used.length = 0
  }
}

const zero = '0'.charCodeAt(0)
const space = ' '.charCodeAt(0)

/** Sums of votes by packed level. Level 0, which means missing, is not counted. */
function createLevelVotes() {
  const votesOf = new Float64Array(levels)
  const used: number[] = []
  return {
    add(level: number, votes: number): void {
      if (level === 0) return
      if (votesOf[level] === 0) used.push(level)
      votesOf[level] = (votesOf[level] ?? 0) + votes
    },
    /** Returns the sums by whole dB and starts again from zero. */
    take(): BinVotes {
      // Of the right length at once: a route has tens of thousands of these lists.
      const bins = new Array<number>(used.length * 2)
      used.forEach((level, index) => {
        bins[index * 2] = level - levelOffset
        bins[index * 2 + 1] = votesOf[level] ?? 0
        votesOf[level] = 0
      })
      used.length = 0
      return bins
    },
  }
}
