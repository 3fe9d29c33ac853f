import { idList } from '#questdb/server/id-list'
import type { QuestdbSql } from '#questdb/server/sql'
import type { ServiceVotes, SimCell } from '#telemetry/sim-advice/sim-advice'
import { type CellRange, cellRanges, isInRange } from './cell-ranges.ts'
import { isOfOrganization, modemKey, type OrganizationVotes } from './organization-votes.ts'

/** A modem of a device with its votes. `plmn`: the operator of most of them; null if none has one. */
export type SimVoter = { deviceId: string; modem: string | null; plmn: string | null; votes: number; days: number }

/** The cells of a modem. Cells are numbers as in `CellOperators`. */
export type SimCells = { deviceId: string; modem: string | null; cells: SimCell[] }

/** The votes in an H3 cell of resolution 10, by operator. `cell` is the H3 index without its last 15 bits. */
export type CellOperators = { cell: number; operators: ServiceVotes[] }

// The last 15 bits are the same in all cells of resolution 10. The others are an exact number in JavaScript.
const cellNumber = 'h3_10 / 32768'

/** The modems that voted. */
export async function simVoters(questdb: QuestdbSql, votes: OrganizationVotes): Promise<SimVoter[]> {
  const { where, values } = isOfOrganization(votes)
  const days = await questdb.queryArrays<[deviceId: string, modem: string | null, days: string]>(
    `SELECT device_id, modem, count_distinct(day) FROM (
       SELECT device_id, modem, timestamp_floor('d', ts) day FROM coverage_vote_1m WHERE ${where}
     ) GROUP BY device_id, modem`,
    values,
  )
  const operators = await questdb.queryArrays<
    [deviceId: string, modem: string | null, plmn: string | null, votes: string]
  >(
    `SELECT device_id, modem, plmn, count() votes FROM coverage_vote_1m WHERE ${where} GROUP BY device_id, modem, plmn`,
    values,
  )
  const ofSim = Map.groupBy(operators, ([deviceId, modem]) => modemKey(deviceId, modem))
  return days.map(([deviceId, modem, count]) => {
    const own = ofSim.get(modemKey(deviceId, modem)) ?? []
    const [most] = own
      .flatMap(([, , plmn, votesOf]) => (plmn === null ? [] : [{ plmn, votes: Number(votesOf) }]))
      .sort((a, b) => b.votes - a.votes || (a.plmn < b.plmn ? -1 : 1))
    const total = own.reduce((sum, [, , , votesOf]) => sum + Number(votesOf), 0)
    return { deviceId, modem, plmn: most?.plmn ?? null, votes: total, days: Number(count) }
  })
}

/** Divides the cells into ranges with at most `maxVotes` votes, or one area with more. */
export const rangesOfOperators = (
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  maxVotes: number,
): Promise<CellRange[]> => cellRanges(questdb, isOfOrganization(votes), maxVotes)

/** The votes by operator of the cells in a range. */
export async function operatorsInRange(
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  range: CellRange,
): Promise<CellOperators[]> {
  const { where, values } = isOfOrganization(votes)
  const rows = await questdb.queryArrays<[cell: string, plmn: string, votes: string, noService: string]>(
    `SELECT cell, plmn, votes, no_service FROM (
       SELECT ${cellNumber} cell, plmn, sum(votes) votes, sum(CASE WHEN rat = 'none' THEN votes ELSE 0 END) no_service
       FROM coverage_1h WHERE ${where} AND plmn IS NOT NULL AND ${isInRange(range)}
       GROUP BY cell, plmn
     ) ORDER BY cell`,
    values,
  )
  const cells: CellOperators[] = []
  for (const [number, plmn, all, noService] of rows) {
    const cell = Number(number)
    const own = { plmn, votes: Number(all), noService: Number(noService) }
    const last = cells.at(-1)
    if (last?.cell === cell) last.operators.push(own)
    else cells.push({ cell, operators: [own] })
  }
  return cells
}

/**
 * The minutes of all modems of these devices, at most 512, in each cell. A minute with votes in several cells counts as an equal part
 * in each.
 */
export async function cellsOfSims(
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  deviceIds: readonly string[],
): Promise<SimCells[]> {
  const { where, values } = isOfOrganization(votes)
  const { list, ids } = idList(deviceIds, values.length + 1)
  const rows = await questdb.queryArrays<
    [deviceId: string, modem: string | null, cell: string, minutes: number, noServiceMinutes: number]
  >(
    `SELECT device_id, modem, cell, sum(1.0 / cells) minutes, sum(CASE WHEN rat = 'none' THEN 1.0 / cells ELSE 0.0 END)
     FROM (
       SELECT device_id, modem, ${cellNumber} cell, rat, count() OVER (PARTITION BY ts, device_id, modem) cells
       FROM coverage_vote_1m WHERE device_id IN (${list}) AND ${where}
     ) GROUP BY device_id, modem, cell`,
    [...values, ...ids],
  )
  const sims = new Map<string, SimCells>()
  for (const [deviceId, modem, cell, minutes, noServiceMinutes] of rows) {
    const key = modemKey(deviceId, modem)
    const sim = sims.get(key) ?? { deviceId, modem, cells: [] }
    sims.set(key, sim)
    sim.cells.push({ cell: Number(cell), minutes, noServiceMinutes })
  }
  return [...sims.values()]
}
