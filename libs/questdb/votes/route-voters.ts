import type { QuestdbSql } from '#questdb/server/sql'
import type { SourceCell } from '#telemetry/coverage/forecast'
import { parentCell, type VoteFilter, voterSource } from './coverage-source.ts'
import { areasOf, enclosingCells, longOfH3 } from './h3-index.ts'
import { cellsAtOnce } from './vote-limits.ts'

/** Statements list cells of at most this resolution. A finer one would list several times as many. */
const listedResolution = 8

/** The devices that voted in a cell, and their votes. */
export type CellVoters = { devices: number; votes: number }

/**
 * Counts the devices that voted in each of these cells, which may have several resolutions. A device counts once for each
 * filter it matches. Cells without votes are left out.
 */
export async function votersOfCells(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  cells: readonly SourceCell[],
): Promise<Map<string, CellVoters>> {
  const voters = new Map<string, CellVoters>()
  const count = async (filter: VoteFilter, resolution: number, cells: readonly SourceCell[]) => {
    const byLong = new Map(cells.map(({ h3 }) => [longOfH3(h3), h3]))
    for (const listed of lists(cells, Math.min(resolution, listedResolution))) {
      const source = voterSource({ ...filter, areas: areasOf(listed.h3), cells: listed })
      const rows = await questdb.queryArrays<[string, string, string]>(
        `SELECT ${parentCell(resolution)} cell, count_distinct(device_id) devices, sum(votes) votes FROM ${source.text} GROUP BY cell`,
        source.values,
      )
      for (const [cell, devices, votes] of rows) {
        const h3 = byLong.get(cell)
        if (h3 === undefined) continue
        const counted = voters.get(h3) ?? { devices: 0, votes: 0 }
        counted.devices += Number(devices)
        counted.votes += Number(votes)
        voters.set(h3, counted)
      }
    }
  }
  const byResolution = [...Map.groupBy(cells, ({ h3Resolution }) => h3Resolution)]
  await Promise.all(
    filters.flatMap((filter) => byResolution.map(([resolution, cells]) => count(filter, resolution, cells))),
  )
  return voters
}

/** The cells of this resolution that contain these cells, as lists for one statement each. */
function* lists(cells: readonly SourceCell[], resolution: number) {
  const h3 = enclosingCells(
    cells.map((cell) => cell.h3),
    resolution,
  )
  for (let start = 0; start < h3.length; start += cellsAtOnce) {
    yield { resolution, h3: h3.slice(start, start + cellsAtOnce) }
  }
}
