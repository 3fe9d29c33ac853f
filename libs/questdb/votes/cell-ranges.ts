import type { QuestdbSql } from '#questdb/server/sql'
import type { VoteCondition } from './organization-votes.ts'

/** H3 indexes of resolution 10 from `first` to before `end`. */
export type CellRange = { first: bigint; end: bigint }

type Counted = CellRange & { votes: number }

/** The indexes of the cells in one cell of resolution 7 differ in their last 24 bits, and one cell of resolution 10 has the last 15. */
const areaSize = 2n ** 24n
const cellSize = 2n ** 15n

/**
 * Divides the votes that meet a condition into ranges of cells with at most `maxVotes` each, or one cell of resolution 10 with more.
 * QuestDB reads all votes for each range. It compares a column with two numbers four times as fast as it computes a remainder.
 */
export async function cellRanges(
  questdb: QuestdbSql,
  condition: VoteCondition,
  maxVotes: number,
): Promise<CellRange[]> {
  const ranges: Counted[] = []
  for (const area of await countedCells(questdb, condition, areaSize)) {
    if (area.votes <= maxVotes) append(ranges, area, maxVotes)
    else for (const cell of await countedCells(questdb, condition, cellSize, area)) append(ranges, cell, maxVotes)
  }
  return ranges.map(({ first, end }) => ({ first, end }))
}

/** The votes in cells of one size, in order. */
async function countedCells(
  questdb: QuestdbSql,
  { where, values }: VoteCondition,
  size: bigint,
  within?: CellRange,
): Promise<Counted[]> {
  const rows = await questdb.queryArrays<[cell: string, votes: string]>(
    `SELECT cell, votes FROM (
       SELECT h3_10 / ${size} cell, count() votes FROM coverage_vote_1m
       WHERE ${where}${within ? ` AND ${isInRange(within)}` : ''} GROUP BY cell
     ) ORDER BY cell`,
    values,
  )
  return rows.map(([cell, votes]) => ({
    first: BigInt(cell) * size,
    end: (BigInt(cell) + 1n) * size,
    votes: Number(votes),
  }))
}

/** Extends the last range, unless it would have too many votes. */
function append(ranges: Counted[], { first, end, votes }: Counted, maxVotes: number): void {
  const last = ranges.at(-1)
  if (!last || last.votes + votes > maxVotes) ranges.push({ first, end, votes })
  else {
    last.end = end
    last.votes += votes
  }
}

/** The condition that a cell is in a range, in SQL. */
export const isInRange = ({ first, end }: CellRange): string => `h3_10 >= ${first} AND h3_10 < ${end}`
