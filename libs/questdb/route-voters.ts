import { addTo } from '#core/counts'
import { type CellSet, firstCellOf, parentCell, type VoteFilter, voterSource } from '#questdb/coverage-source'
import { areasOf, h3OfLong } from '#questdb/h3-index'
import type { QuestdbSql } from '#questdb/sql'
import { disjointLayers } from '#telemetry/cell-layers'
import type { ToldCell } from '#telemetry/forecast'

/**
 * How many devices voted in each of these cells, which may have several resolutions. A device counts once for each filter it
 * matches. Cells that do not contain each other are read in one scan.
 */
export async function votersOfCells(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  cells: readonly ToldCell[],
): Promise<Map<string, number>> {
  const voters = new Map(cells.map(({ h3 }) => [h3, 0]))
  const count = async (filter: VoteFilter, sets: readonly CellSet[]) => {
    const areas = areasOf(sets.flatMap(({ h3 }) => h3))
    const source = voterSource({ ...filter, areas, cells: sets })
    const rows = await questdb.queryArrays<[string, string]>(
      `SELECT ${cellOf(sets)} cell, count_distinct(device_id) devices FROM ${source.text} GROUP BY cell`,
      source.values,
    )
    for (const [cell, devices] of rows) addTo(voters, h3OfLong(cell), Number(devices))
  }
  const layers = disjointLayers(cells).map(setsOf)
  await Promise.all(filters.flatMap((filter) => layers.map((sets) => count(filter, sets))))
  return voters
}

/** The cell of a vote as SQL. The source has only votes in one of the sets. */
const cellOf = (sets: readonly CellSet[]): string => {
  const [only] = sets
  return only && sets.length === 1 ? parentCell(only.resolution) : firstCellOf(sets)
}

const setsOf = (cells: readonly ToldCell[]): CellSet[] =>
  [...Map.groupBy(cells, ({ h3Resolution }) => h3Resolution)].map(([resolution, told]) => ({
    resolution,
    h3: told.map(({ h3 }) => h3),
  }))
