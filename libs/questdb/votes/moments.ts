import { forEachInSlices } from '#core/slices'
import type { QuestdbSql } from '#questdb/server/sql'
import { ancestorOf } from '#telemetry/coverage/ancestor-cell'
import { addMoments, type Moments, noMoments } from '#telemetry/coverage/moments'
import type { Chain } from '#telemetry/coverage/route-tallies'
import { momentParts, parentCell, type VoteFilter } from './coverage-source.ts'
import { areasOf, h3OfLong } from './h3-index.ts'
import { cellsAtOnce } from './vote-limits.ts'

/** The cells of a resolution in which several modems of a device voted in the same minute. */
export async function momentsByCell(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
): Promise<Map<string, Moments>> {
  const moments = new Map<string, Moments>()
  for (const source of filters.flatMap(momentParts)) {
    const rows = await questdb.queryArrays<[cell: string, moreVotes: string, moreDark: string]>(
      `SELECT ${parentCell(resolution)} cell, sum(more_votes), sum(more_dark) FROM ${source.text} GROUP BY cell`,
      source.values,
    )
    await forEachInSlices(rows, ([cell, moreVotes, moreDark]) => {
      const counted = { moreVotes: Number(moreVotes), moreDark: Number(moreDark) }
      add(moments, h3OfLong(cell), counted)
    })
  }
  return moments
}

const add = (moments: Map<string, Moments>, h3: string, counted: Moments): void => {
  moments.set(h3, addMoments(moments.get(h3) ?? noMoments, counted))
}

/** The moments of the cells of chains, whose coarsest cells have this resolution, and of all cells between them. */
export async function momentsAround(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  chains: readonly Chain[],
  resolutions: readonly [finest: number, ...coarser: number[]],
): Promise<Map<string, Moments>> {
  const [finest, ...coarser] = resolutions
  const resolution = coarser.at(-1) ?? finest
  const around = [...new Set(chains.map((chain) => chain.at(-1) ?? ''))]
  const moments = new Map<string, Moments>()
  for (let start = 0; start < around.length; start += cellsAtOnce) {
    const h3 = around.slice(start, start + cellsAtOnce)
    const within = filters.map((filter) => ({ ...filter, areas: areasOf(h3), cells: { resolution, h3 } }))
    for (const [cell, counted] of await momentsByCell(questdb, within, finest)) {
      add(moments, cell, counted)
      for (const coarse of coarser) add(moments, ancestorOf(cell, coarse), counted)
    }
  }
  return moments
}
