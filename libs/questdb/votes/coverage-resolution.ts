import { ServiceError } from '#core/errors'
import { filterInSlices } from '#core/slices'
import type { QuestdbSql } from '#questdb/server/sql'
import { countCells, votedCells } from './coverage.ts'
import type { VoteFilter } from './coverage-source.ts'

export const coarsestResolution = 4
const resolutions = [10, 9, 8, 7, 6, 5, coarsestResolution]

const fewCells = 5_000
// Maximum number of cells to check one by one.
const maxListed = 100_000

/** A resolution and its voted cells that count; no list when all of them do and they are few. */
export type ChosenCells = { resolution: number; h3: string[] | undefined }

type Counts = (h3: string) => boolean

/** The H3 resolution that suits a map at this zoom. */
export function resolutionForZoom(zoom: number): number {
  if (zoom <= 4) return 4
  if (zoom <= 10) return 4 + Math.ceil((zoom - 4) / 2)
  if (zoom <= 11) return 8
  return zoom <= 13 ? 9 : 10
}

/**
 * Returns the voted cells of a resolution that `counts` accepts. Throws 400 `too_many_cells` for more than `maxCells`, or if
 * there are too many to check.
 */
export async function cellsAt(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
  { counts, maxCells }: { counts: Counts | undefined; maxCells: number },
): Promise<ChosenCells> {
  // A box needs the list. Counting its cells first would take as long again.
  if (!counts) {
    const atMost = await countAtMost(questdb, filters, resolution)
    if (atMost <= fewCells) return { resolution, h3: undefined }
    if (atMost > maxListed) throw tooManyCells(resolution, maxCells)
  }
  const listed = await listCells(questdb, filters, resolution)
  if (listed.length > maxListed) throw tooManyCells(resolution, maxCells)
  const h3 = await counted(listed, counts)
  if (h3.length > maxCells) throw tooManyCells(resolution, maxCells)
  return { resolution, h3 }
}

/** Returns the finest resolution with at most 5,000 cells that `counts` accepts. */
export async function finestFitting(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  { counts, maxCells }: { counts: Counts | undefined; maxCells: number },
): Promise<ChosenCells> {
  for (const resolution of resolutions) {
    const atMost = await countAtMost(questdb, filters, resolution)
    if (!counts && atMost <= fewCells) return { resolution, h3: undefined }
    // Without a box the cells of one organization are counted exactly.
    if (atMost > maxListed || (atMost > fewCells && !counts && filters.length === 1)) continue
    const h3 = await counted(await listCells(questdb, filters, resolution), counts)
    if (h3.length <= fewCells) return { resolution, h3 }
  }
  return cellsAt(questdb, filters, coarsestResolution, { counts, maxCells })
}

async function countAtMost(questdb: QuestdbSql, filters: readonly VoteFilter[], resolution: number): Promise<number> {
  const perFilter = await Promise.all(filters.map((filter) => countCells(questdb, filter, resolution)))
  return perFilter.reduce((sum, cells) => sum + cells, 0)
}

/** Returns the voted cells of a resolution without duplicates; not many more than `maxListed`. */
export async function listCells(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolution: number,
): Promise<string[]> {
  const lists = await Promise.all(filters.map((filter) => votedCells(questdb, filter, resolution, maxListed + 1)))
  return [...new Set(lists.flat())]
}

const counted = (h3: string[], counts: Counts | undefined): Promise<string[]> | string[] =>
  counts ? filterInSlices(h3, counts) : h3

function tooManyCells(resolution: number, maxCells: number): ServiceError {
  const detail = `There are more than ${maxCells} coverage cells at resolution ${resolution}. Send a smaller bbox or a coarser h3Resolution, or neither h3Resolution nor zoom.`
  return new ServiceError(400, 'too_many_cells', detail, {
    errors: [{ pointer: 'h3Resolution', code: 'too_many_cells', detail }],
    members: { maxCells },
  })
}
