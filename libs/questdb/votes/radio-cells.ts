import type { QuestdbSql } from '#questdb/server/sql'
import { type CellRange, cellRanges } from './cell-ranges.ts'
import { h3OfLong, longOfH3 } from './h3-index.ts'
import { isOfOrganization, type OrganizationVotes, type VoteCondition } from './organization-votes.ts'

/** A modem of a device, and how many votes it has. */
export type RadioVoter = { deviceId: string; modem: string | null; votes: number }

/** Minute votes of a modem with the same level, in one hour, H3 cell of resolution 10, RAT and serving cell. */
export type RadioLevel = {
  deviceId: string
  modem: string | null
  /** Since 1970. */
  hour: number
  /** Decimal text of the H3 index. */
  cell: string
  rat: string
  /** Decimal text of the view's column. */
  servingCell: string
  rsrpDbm: number
  votes: number
}

/** The channel has 22 bits in the number that stands for PCI and channel. */
const arfcnFactor = 4_194_304

/** What a number of the view's column `serving_cell` stands for: a cell identity, else PCI and channel. */
export function servingCellOf(number: string): { cellId: string | null; pci: number | null; arfcn: number | null } {
  if (!number.startsWith('-')) return { cellId: number, pci: null, arfcn: null }
  const joined = -1 - Number(number)
  return { cellId: null, pci: Math.floor(joined / arfcnFactor), arfcn: joined % arfcnFactor }
}

/** The condition that a vote has a serving cell and a level. */
export function isMeasured(votes: OrganizationVotes): VoteCondition {
  const { where, values } = isOfOrganization(votes)
  const hasLevel = "serving_cell IS NOT NULL AND rsrp_dbm IS NOT NULL AND rat IS NOT NULL AND rat != 'none'"
  return { where: `${where} AND ${hasLevel}`, values }
}

/** The modems that voted, with the number of their votes. */
export async function radioVoters(questdb: QuestdbSql, votes: OrganizationVotes): Promise<RadioVoter[]> {
  const { where, values } = isMeasured(votes)
  const rows = await questdb.queryArrays<[deviceId: string, modem: string | null, votes: string]>(
    `SELECT device_id, modem, count() votes FROM coverage_vote_1m WHERE ${where} GROUP BY device_id, modem`,
    values,
  )
  return rows.map(([deviceId, modem, count]) => ({ deviceId, modem, votes: Number(count) }))
}

/** Divides the cells into ranges with at most `maxVotes` votes, or one area with more. */
export const rangesOfLevels = (questdb: QuestdbSql, votes: OrganizationVotes, maxVotes: number): Promise<CellRange[]> =>
  cellRanges(questdb, isMeasured(votes), maxVotes)

/** The levels of all modems in these H3 cells of resolution 10. Levels of the same H3 cell, RAT and serving cell follow each other. */
export async function levelsOfCells(
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  h3: readonly string[],
): Promise<RadioLevel[]> {
  if (h3.length === 0) return []
  return readLevels(questdb, votes, `h3_10 IN (${h3.map(longOfH3).join(', ')})`)
}

/** The H3 cells of resolution 10 in which a device has most votes, at most `limit`. */
export async function cellsOfDevice(
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  { deviceId, limit }: { deviceId: string; limit: number },
): Promise<string[]> {
  const { where, values } = isMeasured(votes)
  const rows = await questdb.queryArrays<[cell: string]>(
    `SELECT h3_10 FROM (
       SELECT h3_10, count() votes FROM coverage_vote_1m WHERE device_id = $3 AND ${where} GROUP BY h3_10
     ) ORDER BY votes DESC, h3_10 LIMIT ${limit}`,
    [...values, deviceId],
  )
  return rows.map(([cell]) => h3OfLong(cell))
}

/** Of these H3 cells, those with the fewest votes of all modems, as many as have at most `maxVotes` together. */
export async function cellsWithin(
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  { h3, maxVotes }: { h3: readonly string[]; maxVotes: number },
): Promise<string[]> {
  if (h3.length === 0) return []
  const { where, values } = isMeasured(votes)
  const rows = await questdb.queryArrays<[cell: string, votes: string]>(
    `SELECT h3_10, count() votes FROM coverage_vote_1m WHERE ${where} AND h3_10 IN (${h3.map(longOfH3).join(', ')})
     GROUP BY h3_10 ORDER BY votes, h3_10`,
    values,
  )
  let total = 0
  const within = rows.filter(([, count]) => {
    total += Number(count)
    return total <= maxVotes
  })
  return within.map(([cell]) => h3OfLong(cell))
}

type LevelColumns = [
  cell: string,
  rat: string,
  servingCell: string,
  deviceId: string,
  modem: string | null,
  hour: number,
  rsrpDbm: number,
  votes: number,
]

const hourUs = 3_600_000_000

async function readLevels(questdb: QuestdbSql, votes: OrganizationVotes, cells: string): Promise<RadioLevel[]> {
  const { where, values } = isMeasured(votes)
  // Numbers of 32 bits, because the worker reads them several times as fast as times and counts of 64 bits.
  const rows = await questdb.queryArrays<LevelColumns>(
    `SELECT h3_10, rat, serving_cell, device_id, modem, hour, rsrp_dbm, votes::int FROM (
       SELECT h3_10, rat, serving_cell, device_id, modem, (ts::long / ${hourUs})::int hour, rsrp_dbm, count() votes
       FROM coverage_vote_1m WHERE ${where} AND ${cells}
       GROUP BY h3_10, rat, serving_cell, device_id, modem, hour, rsrp_dbm
     ) ORDER BY h3_10, rat, serving_cell`,
    values,
  )
  return rows.map(([cell, rat, servingCell, deviceId, modem, hour, rsrpDbm, count]) => ({
    deviceId,
    modem,
    hour,
    cell,
    rat,
    servingCell,
    rsrpDbm,
    votes: count,
  }))
}
