import type { QuestdbSql } from '#questdb/server/sql'
import { addSinrVotes, addVoteGroup, emptySignalTally, type SignalTally } from '#telemetry/coverage/signal-tally'
import { countSinr } from './coverage.ts'
import { parentCell, type VoteFilter, voteParts } from './coverage-source.ts'
import { areasOf, longOfH3 } from './h3-index.ts'
import { cellsAtOnce, countsAtOnce } from './vote-limits.ts'

/** The tally of each of these cells of one resolution with the votes of all filters; empty without votes. */
export async function signalTallies(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
  cells: readonly string[],
): Promise<Map<string, SignalTally>> {
  const tallies = new Map(cells.map((h3) => [h3, emptySignalTally()]))
  for (let start = 0; start < cells.length; start += cellsAtOnce) {
    const part = cells.slice(start, start + cellsAtOnce)
    await Promise.all(filters.map((filter) => addCells(questdb, filter, resolution, part, tallies)))
  }
  return tallies
}

/** Adds the votes of cells to their tallies. Splits the cells if they have too many different votes. */
async function addCells(
  questdb: QuestdbSql,
  filter: VoteFilter,
  resolution: number,
  cells: readonly string[],
  tallies: ReadonlyMap<string, SignalTally>,
): Promise<void> {
  const inCells = withinCells(filter, resolution, cells)
  const [groups, sinrVotes] = await Promise.all([
    voteGroups(questdb, inCells, resolution),
    countSinr(questdb, inCells, resolution),
  ])
  if (groups.length > countsAtOnce && cells.length > 1) {
    const middle = Math.ceil(cells.length / 2)
    await addCells(questdb, filter, resolution, cells.slice(0, middle), tallies)
    await addCells(questdb, filter, resolution, cells.slice(middle), tallies)
    return
  }
  // Rows have the decimal text of the cell index, which needs no conversion.
  const byLong = new Map(cells.map((h3) => [longOfH3(h3), tallies.get(h3)]))
  for (const [cell, rat, plmn, rsrpBin, votes] of groups) {
    const tally = byLong.get(cell)
    if (tally) addVoteGroup(tally, { rat, plmn, rsrpBin, votes: Number(votes) })
  }
  for (const { h3, sinrBin, votes } of sinrVotes) {
    const tally = tallies.get(h3)
    if (tally) addSinrVotes(tally, sinrBin, votes)
  }
}

type VoteGroupColumns = [cell: string, rat: string | null, plmn: string | null, rsrpBin: number | null, votes: string]

/** The votes of cells by RAT, operator and RSRP; more than `countsAtOnce` if there are too many different votes. */
async function voteGroups(questdb: QuestdbSql, filter: VoteFilter, resolution: number): Promise<VoteGroupColumns[]> {
  const groups = await Promise.all(
    voteParts(filter).map(({ text, values }) =>
      questdb.queryArrays<VoteGroupColumns>(
        `SELECT ${parentCell(resolution)} cell, rat, plmn, rsrp_bin, sum(votes) votes
         FROM ${text} GROUP BY cell, rat, plmn, rsrp_bin LIMIT ${countsAtOnce + 1}`,
        values,
      ),
    ),
  )
  return groups.flat()
}

/** Compares the areas first: they are stored, while the cell of a resolution is computed for each row. */
function withinCells(filter: VoteFilter, resolution: number, cells: readonly string[]): VoteFilter {
  return { ...filter, areas: areasOf(cells), cells: { resolution, h3: cells } }
}
