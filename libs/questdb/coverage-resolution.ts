import { countCells, votedCells } from '#questdb/coverage'
import type { VoteFilter } from '#questdb/coverage-source'
import type { QuestdbSql } from '#questdb/sql'

const coarsestResolution = 4
const resolutions = [10, 9, 8, 7, 6, 5, coarsestResolution]

const maxCells = 5_000
// A list of cells this long is still looked at one by one to see how many of them count.
const maxListed = 100_000

/** Those voted cells of a resolution that count; undefined when they are too many to ask for one by one. */
export async function countingCells(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
  counts: (h3: string) => boolean,
): Promise<VoteFilter['cells']> {
  const lists = await Promise.all(filters.map((filter) => votedCells(questdb, filter, resolution)))
  const h3 = [...new Set(lists.flat())].filter(counts)
  return h3.length <= maxCells ? { resolution, h3 } : undefined
}

/** The H3 resolution that suits a map at this zoom. */
export function resolutionForZoom(zoom: number): number {
  if (zoom <= 4) return 4
  if (zoom <= 10) return 4 + Math.ceil((zoom - 4) / 2)
  if (zoom <= 11) return 8
  return zoom <= 13 ? 9 : 10
}

/** The finest resolution at which at most 5,000 cells come back; `counts` says whether a cell does. */
export async function finestFitting(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  counts: ((h3: string) => boolean) | undefined,
): Promise<number> {
  for (const resolution of resolutions) {
    const perFilter = await Promise.all(filters.map((filter) => countCells(questdb, filter, resolution)))
    const atMost = perFilter.reduce((sum, cells) => sum + cells, 0)
    if (atMost <= maxCells) return resolution
    const isExact = !counts && filters.length === 1
    if (isExact || atMost > maxListed) continue
    const lists = await Promise.all(filters.map((filter) => votedCells(questdb, filter, resolution)))
    const cells = [...new Set(lists.flat())]
    if ((counts ? cells.filter(counts) : cells).length <= maxCells) return resolution
  }
  return coarsestResolution
}
