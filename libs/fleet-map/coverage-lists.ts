import type { Clock } from '#core/clock'
import { type BoundingBox, contains } from '#fleet-map/filter'
import type { Revisions } from '#fleet-map/revisions'
import { createSharedLists, type SharedLists } from '#fleet-map/shared-lists'
import type { Pool } from '#postgres/pool'
import { cellCentre, coverageAreas } from '#questdb/coverage-areas'
import type { CoverageCell } from '#questdb/coverage-cells'
import { readCells } from '#questdb/coverage-read'
import { cellsAt, finestFitting } from '#questdb/coverage-resolution'
import type { Reader, Readers } from '#questdb/readers'
import { cacheBytes, maxCells } from './memory-limits.ts'
import { type OrganizationWindow, voteFilters } from './vote-filters.ts'

/** What of the coverage somebody wants to see. */
type CoverageRequest = {
  /** On whose share it is read, when nobody else has asked for the same. */
  owner: string
  organizations: readonly OrganizationWindow[]
  h3Resolution: number | undefined
  bbox: BoundingBox | undefined
  groupId: string | undefined
  members: ReadonlySet<string> | undefined
  tags: readonly string[] | undefined
  rat: string | undefined
  plmn: string | undefined
}

export type CoverageLists = SharedLists<CoverageRequest, { h3Resolution: number }, CoverageCell>

type Sources = { pool: Pool; readers: Readers; clock: Clock; revisions: Revisions }

// The views lag by up to a minute and a half; with this a reader sees nothing older than two minutes.
const longestLifeMs = 25_000
const cellBytes = 1_200

/** Coverage cells, counted from the votes and shared among all who look at the same. */
export const createCoverageLists = (sources: Sources): CoverageLists =>
  createSharedLists({
    ...sources,
    longestLifeMs,
    maxBytes: cacheBytes.coverageLists,
    itemBytes: cellBytes,
    keyOf: ({ members: _members, owner: _owner, ...request }) => JSON.stringify(request),
    // The resolution is part of an index: after a change of it every cell is another one.
    identify: (cell) => cell.h3,
    contentOf: (cell) => JSON.stringify(cell),
    make: (request, signal) => {
      const reader = sources.readers.of(request.owner, signal)
      return reader.heavy(() => readCoverageCells(sources, reader, request))
    },
  })

async function readCoverageCells({ pool, clock }: Sources, { questdb }: Reader, request: CoverageRequest) {
  const nowMs = clock()
  const { bbox } = request
  const areas = bbox && coverageAreas(bbox)
  const inside = bbox && ((h3: string) => contains(bbox, ...cellCentre(h3)))
  const filters = (await voteFilters({ pool, questdb }, request, nowMs)).map((filter) => ({ ...filter, areas }))
  // The areas reach far over the box: of all the votes in them only those that will be shown are fetched.
  const limits = { counts: inside, maxCells }
  const chosen =
    request.h3Resolution === undefined
      ? await finestFitting(questdb, filters, limits)
      : await cellsAt(questdb, filters, request.h3Resolution, limits)
  return { facts: { h3Resolution: chosen.resolution }, items: await readCells(questdb, filters, chosen) }
}
