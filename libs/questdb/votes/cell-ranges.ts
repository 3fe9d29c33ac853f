import type { QuestdbSql } from '#questdb/server/sql'
import type { VoteCondition } from './organization-votes.ts'

/** H3 indexes of resolution 10 from `first` to before `end`. */
export type CellRange = { first: bigint; end: bigint }

/** The indexes of the cells in one cell of resolution 7 differ in their last 24 bits. */
const areaSize = 2n ** 24n

/**
 * Divides the votes that meet a condition into ranges of cells with at most `maxVotes` each, or one cell of resolution 7 with more.
 * QuestDB reads all votes for each range. It compares a column with two numbers four times as fast as it computes a remainder.
 */
export async function cellRanges(
  questdb: QuestdbSql,
  { where, values }: VoteCondition,
  maxVotes: number,
): Promise<CellRange[]> {
  const areas = await questdb.queryArrays<[area: string, votes: string]>(
    `SELECT area, votes FROM (
       SELECT h3_10 / ${areaSize} area, count() votes FROM coverage_vote_1m WHERE ${where} GROUP BY area
     ) ORDER BY area`,
    values,
  )
  const ranges: CellRange[] = []
  let votesInRange = 0
  for (const [area, votes] of areas) {
    const [first, end] = [BigInt(area) * areaSize, (BigInt(area) + 1n) * areaSize]
    const last = ranges.at(-1)
    votesInRange += Number(votes)
    if (last && votesInRange <= maxVotes) last.end = end
    else {
      ranges.push({ first, end })
      votesInRange = Number(votes)
    }
  }
  return ranges
}

/** The condition that a cell is in a range, in SQL. */
export const isInRange = ({ first, end }: CellRange): string => `h3_10 >= ${first} AND h3_10 < ${end}`
