import type { QuestdbRows } from '#questdb/server/sql'
import { hundredths, levelBits, lowestDbm } from '#telemetry/radio-health/packed-level'
import type { CellIndex } from './cell-index.ts'
import { type CellRange, isInRange } from './cell-ranges.ts'
import type { OrganizationVotes } from './organization-votes.ts'
import { isMeasured } from './radio-cells.ts'
import type { RadioIndex } from './radio-index.ts'

/** The words of `rat`, except the one for no service. The most frequent ones are first, because QuestDB compares in this order. */
export const servedRats = ['lte', 'nr-nsa', 'nr-sa', 'umts', 'hspa', 'gsm', 'lte-m', 'nb-iot'] as const

const hourBits = 13
const hourUs = 3_600_000_000

/** RAT, hours since the start and level as one number of 31 bits. QuestDB sends a column in the time that it needs to pack three. */
const packed = (fromMs: number): string => {
  const rat = `CASE ${servedRats.map((word, index) => `WHEN rat = '${word}' THEN ${index}`).join(' ')} ELSE 0 END`
  return `(${rat} * ${2 ** (levelBits + hourBits)} + (ts::long - ${fromMs * 1_000}) / ${hourUs} * ${2 ** levelBits}
    + ((rsrp_dbm - ${lowestDbm}) * ${hundredths} + 0.5)::int)::int`
}

/**
 * Takes a vote: the numbers of its cell, which is a H3 cell with a RAT and a serving cell, and of its radio, the hours since the start,
 * and the level in hundredths of a dB above `lowestDbm`.
 */
export type TakeVote = (cell: number, radio: number, hour: number, level: number) => void

/** Reads the votes in a range of cells, in order of time. Votes of other radios do not count. */
export async function readRadioVotes(
  questdb: QuestdbRows,
  votes: OrganizationVotes,
  range: CellRange,
  { cells, radios, take }: { cells: CellIndex; radios: RadioIndex; take: TakeVote },
): Promise<void> {
  const { where, values } = isMeasured(votes)
  await questdb.readRows(
    `SELECT h3_10, serving_cell, ${packed(votes.fromMs)} packed, device_id, modem
     FROM coverage_vote_1m WHERE ${where} AND ${isInRange(range)}`,
    values,
    // The offsets follow from the lengths: eight bytes, eight and four, each after a length of four bytes.
    (bytes, at) => {
      const radio = radios.indexAt(bytes, at + 32)
      if (radio < 0) return
      const number = bytes.readInt32BE(at + 28)
      const cell = cells.indexOf(
        bytes.readInt32BE(at + 4),
        bytes.readInt32BE(at + 8),
        bytes.readInt32BE(at + 16),
        bytes.readInt32BE(at + 20),
        number >> (levelBits + hourBits),
      )
      take(cell, radio, (number >> levelBits) & (2 ** hourBits - 1), number & (2 ** levelBits - 1))
    },
  )
}
