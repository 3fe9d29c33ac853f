import { forEachInSlices } from '#core/slices'
import type { QuestdbSql } from '#questdb/server/sql'
import { type Chain, chainTallies } from '#telemetry/coverage/route-tallies'
import type { SignalTally } from '#telemetry/coverage/signal-tally'
import { parentCell, type Source, type VoteFilter, voteParts } from './coverage-source.ts'
import { areasOf, longOfH3 } from './h3-index.ts'
import { childCells, createVoteTable, packedRow, type VoteTable } from './packed-rows.ts'

// More rows are counted faster by QuestDB. A row takes about 9 bytes of text.
const rowsAtOnce = 500_000
// Points of one statement.
const pointsAtOnce = 5_000

const coarsestResolution = 7

/** The points in one coarsest cell, which is in `h3`. */
type Around = { h3: string; chains: Chain[] }

/** Votes around points that QuestDB has sent. */
export type PackedVotes = {
  /** The points that have so many votes around them that counting in QuestDB is faster. */
  omitted: Chain[]
  /** The other points, in any order. */
  areas: PackedArea[]
}

/** Points that share a coarsest cell, and the votes in it. */
export type PackedArea = {
  chains: readonly Chain[]
  /**
   * Adds up the votes in slices. Calls `use` for each point with the tally of its finest cell, and those of the coarser ones
   * if the finest has too few votes; they are valid during the call. Areas of one route must be added up one after the other.
   */
  addUp(use: (chain: Chain, tallies: ReadonlyMap<string, SignalTally>) => void): Promise<void>
}

/**
 * Reads the votes around points, whose cells have the resolutions 10 to 7, in a single scan of each view. Resolves when
 * QuestDB has sent them. Omits points that have more than `maxRows` rows of votes around them.
 */
export async function readPackedVotes(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  chains: readonly Chain[],
  maxRows = rowsAtOnce,
): Promise<PackedVotes> {
  const table = createVoteTable()
  const parts = await Promise.all(
    partsOf(chains).map(async (part) => ({ part, groups: await readPart(questdb, filters, part, maxRows) })),
  )
  return {
    omitted: parts.flatMap(({ part, groups }) => (groups ? [] : part.flatMap((around) => around.chains))),
    areas: parts.flatMap(({ part, groups }) => (groups ? packedAreas(part, groups, table) : [])),
  }
}

function packedAreas(part: readonly Around[], groups: readonly PackedColumns[], table: VoteTable): PackedArea[] {
  const groupsOf = Map.groupBy(groups, ([cell]) => cell)
  return part.map(({ h3, chains }) => ({
    chains,
    async addUp(use) {
      const tallies = await tallyAround(chains, groupsOf.get(longOfH3(h3)) ?? [], table)
      await forEachInSlices(chains, (chain) => use(chain, tallies))
    },
  }))
}

/** Divides the points into statements. All points in one coarsest cell are in the same. */
function partsOf(chains: readonly Chain[]): Around[][] {
  const parts: Around[][] = []
  let points = pointsAtOnce
  for (const [h3, within] of Map.groupBy(chains, (cells) => cells.at(-1) ?? '')) {
    if (points >= pointsAtOnce) {
      parts.push([])
      points = 0
    }
    parts.at(-1)?.push({ h3, chains: within })
    points += within.length
  }
  return parts
}

type PackedColumns = [coarsestCell: string, rat: string | null, plmn: string | null, rows: string, packed: string]

/** Returns undefined if there are too many rows. */
async function readPart(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  part: readonly Around[],
  maxRows: number,
): Promise<PackedColumns[] | undefined> {
  const coarsest = part.map(({ h3 }) => h3)
  const within = { areas: areasOf(coarsest), cells: { resolution: coarsestResolution, h3: coarsest } }
  const perFilter = await Promise.all(
    filters.map(async (filter) => {
      const groups = await Promise.all(
        voteParts({ ...filter, ...within }).map((source) => packedGroups(questdb, source, maxRows)),
      )
      return groups.includes(undefined) ? undefined : groups.flatMap((some) => some ?? [])
    }),
  )
  const groups = perFilter.flatMap((some) => some ?? [])
  const hasAll = perFilter.every((some) => some && rowsOf(some) <= maxRows)
  return hasAll ? groups : undefined
}

const rowsOf = (groups: readonly PackedColumns[]): number => groups.reduce((sum, [, , , rows]) => sum + Number(rows), 0)

// QuestDB limits the text of a group and the bytes of a result row, to 1 MiB each by default.
const tooLongValue = /string_agg\(\) result exceeds max size|not enough space in send buffer/

/** Returns undefined if the rows of a group take more text than QuestDB accepts. */
async function packedGroups(
  questdb: QuestdbSql,
  { text, values }: Source,
  maxRows: number,
): Promise<PackedColumns[] | undefined> {
  try {
    return await questdb.queryArrays<PackedColumns>(
      `SELECT cell, rat, plmn, count() rows, string_agg(packed, ' ')
       FROM (SELECT ${parentCell(coarsestResolution)} cell, rat, plmn, ${packedRow} packed
             FROM ${text} LIMIT ${maxRows + 1})
       GROUP BY cell, rat, plmn`,
      values,
    )
  } catch (error) {
    if (error instanceof Error && tooLongValue.test(error.message)) return undefined
    throw error
  }
}

/** Returns the tallies that the chains of one coarsest cell need. `groups` has its votes. */
async function tallyAround(
  chains: readonly Chain[],
  groups: readonly PackedColumns[],
  table: VoteTable,
): Promise<Map<string, SignalTally>> {
  const { cells, placeOf } = placeCells(chains)
  // Votes of one operator may come from several sources.
  const byOperator = [...Map.groupBy(groups, ([, rat, plmn]) => JSON.stringify([rat, plmn])).values()]
  table.clear(
    cells.length,
    byOperator.map(([group]) => ({ rat: group?.[1] ?? null, plmn: group?.[2] ?? null })),
  )
  await forEachInSlices(byOperator.entries(), ([operator, texts]) => {
    for (const [, , , , packed] of texts) table.add(operator, packed, placeOf)
  })
  const tallies = new Map<string, SignalTally>()
  cells.forEach((h3, place) => {
    const tally = table.tally(place)
    if (tally) tallies.set(h3, tally)
  })
  return chainTallies(chains, tallies)
}

/**
 * Returns the cells of chains in one coarsest cell and, by the digits of each of its children, the place in that list of the
 * finest cell that contains it.
 */
function placeCells(chains: readonly Chain[]): { cells: string[]; placeOf: Uint16Array } {
  const cells: string[] = []
  const placeOf = new Uint16Array(childCells)
  // From the coarsest level on, so that a finer cell takes its children from a coarser one.
  for (let level = (chains[0]?.length ?? 0) - 1; level >= 0; level--) {
    for (const h3 of new Set(chains.map((chain) => chain[level] ?? ''))) {
      const [first, end] = childrenOf(h3, level)
      placeOf.fill(cells.length, first, end)
      cells.push(h3)
    }
  }
  return { cells, placeOf }
}

/** The children of a cell that is this many levels above the finest one, as a range of digits below the coarsest cell. */
function childrenOf(h3: string, level: number): [first: number, end: number] {
  const size = 8 ** level
  // Unused digits are all ones.
  const last = (Number.parseInt(h3.slice(-6), 16) >> 15) & (childCells - 1)
  return [Math.floor(last / size) * size, Math.floor(last / size) * size + size]
}
