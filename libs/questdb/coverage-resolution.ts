import { countCells, votedCells } from '#questdb/coverage'
import type { VoteFilter } from '#questdb/coverage-source'
import type { QuestdbSql } from '#questdb/sql'

const coarsestResolution = 4
const resolutions = [10, 9, 8, 7, 6, 5, coarsestResolution]

const maxCells = 5_000
// A list of cells this long is still looked at one by one to see how many of them count.
const maxListed = 100_000

/** A resolution, and which of its cells to fetch: all when there is no list of them. */
export type FetchedCells = { resolution: number; cells: VoteFilter['cells'] }

type Counts = (h3: string) => boolean

/** The voted cells of a resolution that count; no list when they are too many to ask for one by one. */
export async function cellsAt(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
  counts: Counts | undefined,
): Promise<FetchedCells> {
  const h3 = counts && (await listCells(questdb, filters, resolution)).filter(counts)
  return { resolution, cells: h3 && h3.length <= maxCells ? { resolution, h3 } : undefined }
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
  counts: Counts | undefined,
): Promise<FetchedCells> {
  for (const resolution of resolutions) {
    const perFilter = await Promise.all(filters.map((filter) => countCells(questdb, filter, resolution)))
    const atMost = perFilter.reduce((sum, cells) => sum + cells, 0)
    if (atMost <= maxCells) return cellsAt(questdb, filters, resolution, counts)
    if (atMost > maxListed) continue
    if (counts) {
      const fetched = await cellsAt(questdb, filters, resolution, counts)
      if (fetched.cells) return fetched
    } else if (filters.length > 1 && (await listCells(questdb, filters, resolution)).length <= maxCells) {
      return { resolution, cells: undefined }
    }
  }
  return cellsAt(questdb, filters, coarsestResolution, undefined)
}

/** Each voted cell of a resolution once, though several organizations may have it. */
async function listCells(questdb: QuestdbSql, filters: readonly VoteFilter[], resolution: number): Promise<string[]> {
  const lists = await Promise.all(filters.map((filter) => votedCells(questdb, filter, resolution)))
  return [...new Set(lists.flat())]
}
