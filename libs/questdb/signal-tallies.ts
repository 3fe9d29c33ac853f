import { cellToParent } from 'h3-js'
import { countSinr, countVoters, countVotes } from '#questdb/coverage'
import type { VoteFilter } from '#questdb/coverage-source'
import type { QuestdbSql } from '#questdb/sql'
import { addSinrVotes, addVoteGroup, emptySignalTally, type SignalTally } from '#telemetry/signal-tally'

const areaResolution = 5

// So many cells are counted at the same time, and so many different votes held: each takes about 250 bytes.
const cellsAtOnce = 5_000
const countsAtOnce = 400_000

/** The tally of each of these cells of one resolution, the votes of all filters together; empty where there are none. */
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

/** Adds the votes of cells to their tallies; cells with too many different votes in smaller parts. */
async function addCells(
  questdb: QuestdbSql,
  filter: VoteFilter,
  resolution: number,
  cells: readonly string[],
  tallies: ReadonlyMap<string, SignalTally>,
): Promise<void> {
  const inCells = withinCells(filter, resolution, cells)
  const [votes, sinrVotes] = await Promise.all([
    countVotes(questdb, inCells, resolution, countsAtOnce + 1),
    countSinr(questdb, inCells, resolution),
  ])
  if (votes.length > countsAtOnce && cells.length > 1) {
    const middle = Math.ceil(cells.length / 2)
    await addCells(questdb, filter, resolution, cells.slice(0, middle), tallies)
    await addCells(questdb, filter, resolution, cells.slice(middle), tallies)
    return
  }
  for (const vote of votes) {
    const tally = tallies.get(vote.h3)
    if (tally) addVoteGroup(tally, vote)
  }
  for (const { h3, sinrBin, votes: count } of sinrVotes) {
    const tally = tallies.get(h3)
    if (tally) addSinrVotes(tally, sinrBin, count)
  }
}

/** How many devices voted in each of these cells of one resolution. A device counts once for each filter it matches. */
export async function votersOfCells(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
  cells: readonly string[],
): Promise<Map<string, number>> {
  const voters = new Map(cells.map((h3) => [h3, 0]))
  if (cells.length === 0) return voters
  const counts = await Promise.all(
    filters.map((filter) => countVoters(questdb, withinCells(filter, resolution, cells), resolution)),
  )
  for (const [h3, devices] of counts.flatMap((count) => [...count])) voters.set(h3, (voters.get(h3) ?? 0) + devices)
  return voters
}

/** The areas are compared first: they are stored, while the cell of a resolution is computed for each row. */
function withinCells(filter: VoteFilter, resolution: number, cells: readonly string[]): VoteFilter {
  const areas = new Set(cells.map((h3) => BigInt(`0x${cellToParent(h3, areaResolution)}`).toString()))
  return { ...filter, areas: [...areas], cells: { resolution, h3: cells } }
}
