import { addTo } from '#core/counts'
import { forEachInSlices, mapInSlices } from '#core/slices'
import type { QuestdbSql } from '#questdb/server/sql'
import { parentCell, type VoteFilter, voteParts, voterSource } from './coverage-source.ts'
import { h3OfLong } from './h3-index.ts'

/** Votes of one cell that agree in RAT, operator and RSRP; bins are whole dB. */
export type VoteCount = {
  /** H3 index as hexadecimal text. */
  h3: string
  rat: string | null
  plmn: string | null
  rsrpBin: number | null
  votes: number
  lastAtMs: number
}

/** Votes with service of one cell that agree in SINR. */
export type SinrCount = { h3: string; sinrBin: number; votes: number }

/**
 * Counts votes by cells of a resolution from 4 to 10. Equal votes may be split over two counts; add them up. `countSinr`
 * counts SINR separately, because counts by both RSRP and SINR would be nearly as many as the votes. Returns at most `limit`
 * counts.
 */
export async function countVotes(
  questdb: QuestdbSql,
  filter: VoteFilter,
  resolution: number,
  limit: number,
): Promise<VoteCount[]> {
  const counts: VoteCount[] = []
  for (const source of voteParts(filter)) {
    const rows = await questdb.queryArrays<VoteColumns>(
      `SELECT ${parentCell(resolution)} cell, rat, plmn, rsrp_bin, sum(votes) votes, max(last_at) last_at
       FROM ${source.text} GROUP BY cell, rat, plmn, rsrp_bin LIMIT ${limit - counts.length}`,
      source.values,
    )
    const hexadecimal = hexadecimals()
    await forEachInSlices(rows, ([cell, rat, plmn, rsrpBin, votes, lastAtMs]) => {
      counts.push({ h3: hexadecimal(cell), rat, plmn, rsrpBin, votes: Number(votes), lastAtMs })
    })
    if (counts.length >= limit) break
  }
  return counts
}

type VoteColumns = [
  cell: string,
  rat: string | null,
  plmn: string | null,
  rsrpBin: number | null,
  votes: string,
  lastAtMs: number,
]

/** Votes with service by SINR and cell. */
export async function countSinr(questdb: QuestdbSql, filter: VoteFilter, resolution: number): Promise<SinrCount[]> {
  const perPart = await Promise.all(
    voteParts(filter).map(async (source) => {
      const rows = await questdb.queryArrays<[cell: string, sinrBin: number, votes: string]>(
        `SELECT ${parentCell(resolution)} cell, sinr_bin, sum(votes) votes FROM ${source.text}
         WHERE sinr_bin IS NOT NULL AND (rat IS NULL OR rat != 'none') GROUP BY cell, sinr_bin`,
        source.values,
      )
      const hexadecimal = hexadecimals()
      return mapInSlices(rows, ([cell, sinrBin, votes]) => ({ h3: hexadecimal(cell), sinrBin, votes: Number(votes) }))
    }),
  )
  return perPart.flat()
}

/**
 * How many devices voted in each cell of a resolution, by H3 index, without cells that have no votes. A device counts once
 * for each filter that it matches.
 */
export async function countVoters(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
): Promise<Map<string, number>> {
  const voters = new Map<string, number>()
  const addVoters = async (filter: VoteFilter) => {
    const source = voterSource(filter)
    const rows = await questdb.queryArrays<[string, string]>(
      `SELECT ${parentCell(resolution)} cell, count_distinct(device_id) devices FROM ${source.text} GROUP BY cell`,
      source.values,
    )
    await forEachInSlices(rows, ([cell, devices]) => addTo(voters, h3OfLong(cell), Number(devices)))
  }
  await Promise.all(filters.map(addVoters))
  return voters
}

/**
 * How many cells of a resolution have votes. Counting the rows of a distinct list takes a hundredth of the time of
 * count_distinct() over the same cells.
 */
export async function countCells(questdb: QuestdbSql, filter: VoteFilter, resolution: number): Promise<number> {
  const source = voterSource(filter)
  const [row] = await questdb.queryArrays<[string]>(
    `SELECT count() FROM (SELECT DISTINCT ${parentCell(resolution)} cell FROM ${source.text})`,
    source.values,
  )
  return Number(row?.[0] ?? 0)
}

/** The cells of a resolution that have votes, at most `limit`. */
export async function votedCells(
  questdb: QuestdbSql,
  filter: VoteFilter,
  resolution: number,
  limit: number,
): Promise<string[]> {
  const source = voterSource(filter)
  const rows = await questdb.queryArrays<[string]>(
    `SELECT DISTINCT ${parentCell(resolution)} cell FROM ${source.text} LIMIT ${limit}`,
    source.values,
  )
  return mapInSlices(rows, ([cell]) => h3OfLong(cell))
}

/** `h3OfLong` for many rows of few cells: each cell is converted once. */
function hexadecimals(): (long: string) => string {
  const known = new Map<string, string>()
  return (long) => {
    let h3 = known.get(long)
    if (h3 === undefined) {
      h3 = h3OfLong(long)
      known.set(long, h3)
    }
    return h3
  }
}
