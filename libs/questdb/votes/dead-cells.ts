import { addTo } from '#core/counts'
import { forEachInSlices, mapInSlices } from '#core/slices'
import type { QuestdbSql } from '#questdb/server/sql'
import {
  type DeadCell,
  deadServiceRatio,
  deadZoneResolution,
  enoughVotes,
  noneBelow,
  type ZoneOperator,
} from '#telemetry/coverage/dead-zones'
import { countMoments, type Moments, noMoments } from '#telemetry/coverage/moments'
import { parentCell, unionOf, type VoteFilter, voteParts, voterSource, voteSource } from './coverage-source.ts'
import { h3OfLong, longOfH3 } from './h3-index.ts'
import { momentsByCell } from './moments.ts'

// Zones beyond this limit have too little time without service to matter.
const maxDeadCells = 20_000

const served = "(rat IS NULL OR rat != 'none')"
const votesWhere = (condition: string) => `sum(CASE WHEN ${condition} THEN votes ELSE 0 END)`

/** The votes of a cell: how many, and how many of them meet the conditions of a dead cell. */
type CellVotes = Omit<DeadCell, 'moments' | 'darkMoments'> &
  Moments & { inService: number; withRsrp: number; weakRsrp: number; withSinr: number; weakSinr: number }

function deadCellOf(cell: CellVotes): DeadCell {
  const { moments, dark: darkMoments } = countMoments(cell, cell)
  return { h3: cell.h3, samples: cell.samples, moments, darkMoments, lastAtMs: cell.lastAtMs }
}

/**
 * Cells of resolution 9 that, with the votes of all filters together, have at least 5 votes and
 * are dead: less than 90 % of the moments have service, or the median of RSRP or SINR is of quality `none`. At most
 * 20,000 cells, those with the most votes without service first.
 *
 * A median by nearest rank is below a bound exactly when at least half of the values are.
 */
export async function deadCells(questdb: QuestdbSql, filters: readonly VoteFilter[]): Promise<DeadCell[]> {
  if (filters.length === 0) return []
  const moments = await momentsByCell(questdb, filters, deadZoneResolution)
  const cells =
    filters.some(({ deviceIds }) => deviceIds) && filters.length > 1
      ? await mergedVotes(questdb, filters)
      : await votesByCell(questdb, filters, moments.size > 0 ? '' : mayBeDead)
  for (const cell of cells) Object.assign(cell, moments.get(cell.h3))
  return cells
    .filter(isDead)
    .map(deadCellOf)
    .sort((a, b) => b.darkMoments - a.darkMoments || (a.h3 < b.h3 ? -1 : 1))
    .slice(0, maxDeadCells)
}

function isDead(cell: CellVotes): boolean {
  const { samples, withRsrp, weakRsrp, withSinr, weakSinr } = cell
  if (samples < enoughVotes) return false
  const { moments, dark } = countMoments(cell, cell)
  return (
    moments - dark < deadServiceRatio * moments ||
    (withRsrp > 0 && 2 * weakRsrp >= withRsrp) ||
    (withSinr > 0 && 2 * weakSinr >= withSinr)
  )
}

/** `isDead` as SQL, so that QuestDB sends few cells. */
const mayBeDead = `WHERE samples >= ${enoughVotes} AND (
  in_service < ${deadServiceRatio} * samples OR (with_rsrp > 0 AND 2 * weak_rsrp >= with_rsrp)
  OR (with_sinr > 0 AND 2 * weak_sinr >= with_sinr)
) ORDER BY samples - in_service DESC, cell LIMIT ${maxDeadCells}`

/** The devices of all filters together do not fit into one statement, so every cell is read from each filter. */
async function mergedVotes(questdb: QuestdbSql, filters: readonly VoteFilter[]): Promise<CellVotes[]> {
  const merged = new Map<string, CellVotes>()
  for (const filter of filters) {
    await forEachInSlices(await votesByCell(questdb, [filter], ''), (cell) => {
      const sum = merged.get(cell.h3)
      merged.set(cell.h3, sum ? addVotes(sum, cell) : cell)
    })
  }
  return [...merged.values()]
}

const addVotes = (a: CellVotes, b: CellVotes): CellVotes => ({
  h3: a.h3,
  samples: a.samples + b.samples,
  inService: a.inService + b.inService,
  lastAtMs: Math.max(a.lastAtMs, b.lastAtMs),
  withRsrp: a.withRsrp + b.withRsrp,
  weakRsrp: a.weakRsrp + b.weakRsrp,
  withSinr: a.withSinr + b.withSinr,
  weakSinr: a.weakSinr + b.weakSinr,
  ...noMoments,
})

type CellVotesColumns = [cell: string, lastAtMs: number, ...counts: string[]]

async function votesByCell(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  condition: string,
): Promise<CellVotes[]> {
  const source = unionOf(filters.flatMap(voteParts))
  const rows = await questdb.queryArrays<CellVotesColumns>(
    `SELECT cell, last_at, samples, in_service, with_rsrp, weak_rsrp, with_sinr, weak_sinr FROM (
       SELECT ${parentCell(deadZoneResolution)} cell, sum(votes) samples, max(last_at) last_at,
              ${votesWhere(served)} in_service,
              ${votesWhere(`${served} AND rsrp_bin IS NOT NULL`)} with_rsrp,
              ${votesWhere(`${served} AND rsrp_bin < ${noneBelow.rsrpDbm}`)} weak_rsrp,
              ${votesWhere(`${served} AND sinr_bin IS NOT NULL`)} with_sinr,
              ${votesWhere(`${served} AND sinr_bin < ${noneBelow.sinrDb}`)} weak_sinr
       FROM ${source.text} GROUP BY cell
     ) ${condition}`,
    source.values,
  )
  return mapInSlices(rows, ([cell, lastAtMs, ...counts]) => {
    const [samples = 0, inService = 0, withRsrp = 0, weakRsrp = 0, withSinr = 0, weakSinr = 0] = counts.map(Number)
    const ofSignal = { withRsrp, weakRsrp, withSinr, weakSinr }
    return { h3: h3OfLong(cell), lastAtMs, samples, inService, ...ofSignal, ...noMoments }
  })
}

/** Votes by operator in each of these zones, each a list of resolution-9 cells; in the same order. */
export async function zoneOperators(
  questdb: QuestdbSql,
  filter: VoteFilter,
  zones: readonly (readonly string[])[],
): Promise<ZoneOperator[][]> {
  const source = voteSource({ ...filter, cells: cellsOf(zones) })
  const rows = await questdb.queryArrays<
    [zone: number, plmn: string, isServed: boolean, rsrpBin: number | null, votes: string]
  >(
    `SELECT ${zoneNumber(zones)} zone, plmn, ${served} is_served, rsrp_bin, sum(votes) votes
     FROM (SELECT ${cellColumn}, rat, plmn, rsrp_bin, votes FROM ${source.text} WHERE plmn IS NOT NULL)
     GROUP BY zone, plmn, is_served, rsrp_bin`,
    source.values,
  )
  const byZone = zones.map(() => new Map<string, ZoneOperator>())
  for (const [zone, plmn, isServed, rsrpBin, count] of rows) {
    const operators = byZone[zone]
    if (!operators) continue
    const operator = operators.get(plmn) ?? { plmn, samples: 0, inService: 0, rsrp: new Map<number, number>() }
    operators.set(plmn, operator)
    const votes = Number(count)
    operator.samples += votes
    if (!isServed) continue
    operator.inService += votes
    if (rsrpBin !== null) addTo(operator.rsrp, rsrpBin, votes)
  }
  return byZone.map((operators) => [...operators.values()])
}

/** How many devices voted in each of these zones, in the same order. */
export async function zoneVoters(
  questdb: QuestdbSql,
  filter: VoteFilter,
  zones: readonly (readonly string[])[],
): Promise<number[]> {
  const source = voterSource({ ...filter, cells: cellsOf(zones) })
  const rows = await questdb.queryArrays<[zone: number, devices: string]>(
    `SELECT ${zoneNumber(zones)} zone, count_distinct(device_id) devices
     FROM (SELECT ${cellColumn}, device_id FROM ${source.text}) GROUP BY zone`,
    source.values,
  )
  const counts = new Map(rows.map(([zone, devices]) => [zone, Number(devices)]))
  return zones.map((_, zone) => counts.get(zone) ?? 0)
}

const cellsOf = (zones: readonly (readonly string[])[]) => ({ resolution: deadZoneResolution, h3: zones.flat() })

const cellColumn = `${parentCell(deadZoneResolution)} cell`

/** The zone of a vote as SQL: its place in the list. QuestDB compares a column in CASE, but no expression. */
function zoneNumber(zones: readonly (readonly string[])[]): string {
  const branches = zones.flatMap((cells, zone) => cells.map((h3) => `WHEN ${longOfH3(h3)} THEN ${zone}`))
  return `CASE cell ${branches.join(' ')} ELSE -1 END`
}
