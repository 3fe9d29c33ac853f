import { getResolution, latLngToCell } from 'h3-js'
import type { Clock } from '#core/clock'
import { createSharedReads } from '#core/shared-reads'
import { keyOf, type VoteRequest, voteFilters } from '#fleet-map/coverage/vote-filters'
import { maxCells } from '#fleet-map/memory-limits'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader } from '#questdb/copies/readers'
import type { QuestdbSql } from '#questdb/server/sql'
import { cellCentre, coverageAreas } from '#questdb/votes/coverage-areas'
import { finestFitting } from '#questdb/votes/coverage-resolution'
import type { VoteFilter } from '#questdb/votes/coverage-source'
import { type PlmnVotes, votesByOperator } from '#questdb/votes/signal-trend'
import { cellsAtOnce } from '#questdb/votes/vote-limits'
import { finestResolution } from '#telemetry/coverage/ancestor-cell'
import { type RankedOperator, rankOperators } from '#telemetry/coverage/operator-ranks'
import { meanLongitude } from '#telemetry/geo/antimeridian'
import type { BoundingBox, Point } from '#telemetry/geo/geo'

/** Where votes count: in one H3 cell, in the cells with their centre in an area, or everywhere. `key` identifies the area. */
type Where = {
  h3: string | undefined
  area: { key: string; bounds: BoundingBox; contains(point: Point): boolean } | undefined
}

type Ranking = { madeMs: number; operators: RankedOperator[] }

export type OperatorRanks = {
  /** A ranking that was made in the last half minute. */
  read(reader: Reader, request: VoteRequest, where: Where): Promise<Ranking>
}

const lifeMs = 30_000
const maxRequests = 1_000
const maxOperators = 100

/** Rankings of operators, shared by all callers with the same request. */
export function createOperatorRanks({ pools, clock }: { pools: FairPool; clock: Clock }): OperatorRanks {
  const rankings = createSharedReads<Ranking>({
    clock,
    maxSize: maxRequests,
    agesOf: ({ madeMs }) => ({ freshUntilMs: madeMs + lifeMs }),
  })

  const make = async (reader: Reader, request: VoteRequest, where: Where): Promise<Ranking> => {
    // Finish the ranking even if this caller disconnects, because other callers wait for it.
    const { questdb, heavy } = reader.detached()
    const madeMs = clock()
    const filters = await voteFilters({ pool: pools.of(reader.owner), questdb }, request, madeMs)
    const votes = await heavy(async () => votesOf(questdb, await filtersIn(questdb, filters, where)))
    return { madeMs, operators: rankOperators(votes).slice(0, maxOperators) }
  }

  return {
    read: (reader, request, where) =>
      rankings.read(`${keyOf(request)} ${where.h3} ${where.area?.key}`, () => make(reader, request, where)),
  }
}

/**
 * The filters with the cells of the area, in parts that one statement can name. An area with many cells is divided into fewer, coarser
 * ones, as on the map.
 */
async function filtersIn(questdb: QuestdbSql, filters: VoteFilter[], { h3, area }: Where): Promise<VoteFilter[]> {
  if (h3 !== undefined)
    return filters.map((filter) => ({ ...filter, cells: { resolution: getResolution(h3), h3: [h3] } }))
  if (!area) return filters
  const areas = coverageAreas(area.bounds)
  const nearby = filters.map((filter) => ({ ...filter, areas }))
  const isInside = (cell: string) => {
    const [lat, lon] = cellCentre(cell)
    return area.contains({ lat, lon })
  }
  const { resolution, h3: cells = [] } = await finestFitting(questdb, nearby, { counts: isInside, maxCells })
  if (cells.length === 0) return inMiddle(filters, area)
  const parts: string[][] = []
  for (let start = 0; start < cells.length; start += cellsAtOnce) parts.push(cells.slice(start, start + cellsAtOnce))
  return nearby.flatMap((filter) => parts.map((part) => ({ ...filter, cells: { resolution, h3: part } })))
}

/** The filters with the cell around the middle of an area, which can be so small that it contains the centre of none. */
function inMiddle(filters: VoteFilter[], { bounds, contains }: NonNullable<Where['area']>): VoteFilter[] {
  const [west, south, east, north] = bounds
  const middle = { lat: (south + north) / 2, lon: meanLongitude([west, east]) }
  if (!contains(middle)) return []
  const h3 = [latLngToCell(middle.lat, middle.lon, finestResolution)]
  return filters.map((filter) => ({ ...filter, cells: { resolution: finestResolution, h3 } }))
}

/** Sequentially, because each query uses all of QuestDB's workers. */
async function votesOf(questdb: QuestdbSql, filters: readonly VoteFilter[]): Promise<PlmnVotes[]> {
  const votes: PlmnVotes[] = []
  for (const filter of filters) for (const vote of await votesByOperator(questdb, filter)) votes.push(vote)
  return votes
}
