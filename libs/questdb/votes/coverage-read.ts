import { ServiceError } from '#core/errors'
import type { QuestdbSql } from '#questdb/server/sql'
import { countSinr, countVoters, countVotes, type VoteCount } from './coverage.ts'
import { coverageCells, type DatedCoverageCell } from './coverage-cells.ts'
import { type ChosenCells, listCells } from './coverage-resolution.ts'
import type { VoteFilter } from './coverage-source.ts'
import { cellsAtOnce, countsAtOnce } from './vote-limits.ts'

/** Counts the chosen cells in parts, so that memory does not grow with the number of votes. */
export async function readCells(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  { resolution, h3 }: ChosenCells,
): Promise<DatedCoverageCell[]> {
  const counted = h3 ? undefined : await count(questdb, filters, resolution)
  if (counted) return counted
  const listed = h3 ?? (await listCells(questdb, filters, resolution))
  const items: DatedCoverageCell[] = []
  for (let start = 0; start < listed.length; start += cellsAtOnce) {
    const part = await readPart(questdb, filters, resolution, listed.slice(start, start + cellsAtOnce))
    for (const cell of part) items.push(cell)
  }
  return items
}

/** Counts a part. Splits it if its cells have too many different votes. */
async function readPart(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
  h3: readonly string[],
): Promise<DatedCoverageCell[]> {
  const cells = { resolution, h3 }
  const counted = await count(
    questdb,
    filters.map((filter) => ({ ...filter, cells })),
    resolution,
  )
  if (counted) return counted
  if (h3.length <= 1) throw tooVaried()
  const middle = Math.ceil(h3.length / 2)
  return [
    ...(await readPart(questdb, filters, resolution, h3.slice(0, middle))),
    ...(await readPart(questdb, filters, resolution, h3.slice(middle))),
  ]
}

/** Returns the cells, or undefined if there are too many different votes for memory. */
async function count(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
): Promise<DatedCoverageCell[] | undefined> {
  // Sequentially, because each query uses all of QuestDB's workers.
  const votes: VoteCount[] = []
  for (const filter of filters) {
    const limit = countsAtOnce + 1 - votes.length
    for (const vote of await countVotes(questdb, filter, resolution, limit)) votes.push(vote)
    if (votes.length > countsAtOnce) return undefined
  }
  const sinrCounts = await Promise.all(filters.map((filter) => countSinr(questdb, filter, resolution)))
  const voters = await countVoters(questdb, filters, resolution)
  return coverageCells(votes, sinrCounts.flat(), voters)
}

const tooVaried = () =>
  new ServiceError(400, 'too_many_cells', 'The cell has too many different votes. Send a smaller bbox or window.')
