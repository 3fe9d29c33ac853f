import type { Clock } from '#core/clock'
import type { EffectiveGroup } from '#fleet/groups/effective-members'
import { voteFilters } from '#fleet-map/coverage/vote-filters'
import { databaseNowMs } from '#fleet-map/database-moment'
import { cacheBytes, maxCells } from '#fleet-map/memory-limits'
import type { Revisions } from '#fleet-map/revisions'
import { createSharedLists, type SharedLists } from '#fleet-map/shared-lists'
import type { OrganizationWindow } from '#fleet-map/window'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader } from '#questdb/copies/readers'
import { cellCentre, coverageAreas } from '#questdb/votes/coverage-areas'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'
import { readCells } from '#questdb/votes/coverage-read'
import { cellsAt, finestFitting } from '#questdb/votes/coverage-resolution'
import { type BoundingBox, contains } from '#telemetry/geo/geo'

/** A request for coverage cells. */
type CoverageRequest = {
  /** Whose share and copy are used, unless the list is already being made for another caller. */
  reader: Reader
  organizations: readonly OrganizationWindow[]
  h3Resolution: number | undefined
  bbox: BoundingBox | undefined
  group: EffectiveGroup | undefined
  tags: readonly string[] | undefined
  rat: string | undefined
  plmn: string | undefined
}

/** `madeMs`: when the votes were counted. `asOfMs`: the same by the database's clock. */
type CoverageFacts = { h3Resolution: number; madeMs: number; asOfMs: number }

export type CoverageLists = SharedLists<CoverageRequest, CoverageFacts, DatedCoverageCell>

type Sources = { pools: FairPool; clock: Clock; revisions: Revisions }

// The views lag by up to 90 s, so data is at most two minutes old.
const longestLifeMs = 25_000
const cellBytes = 1_200

/** Coverage cells, counted from votes and shared by all callers with the same request. */
export const createCoverageLists = (sources: Sources): CoverageLists =>
  createSharedLists({
    ...sources,
    longestLifeMs,
    maxBytes: cacheBytes.coverageLists,
    itemBytes: cellBytes,
    keyOf: ({ group, reader: _reader, ...request }) => JSON.stringify({ groupId: group?.id, ...request }),
    // An index contains the resolution, so a new resolution replaces all cells.
    identify: (cell) => cell.h3,
    contentOf: (cell) => JSON.stringify(cell),
    make: (request, signal) => {
      const reader = request.reader.detached(signal)
      return reader.heavy(() => readCoverageCells(sources, reader, request))
    },
  })

async function readCoverageCells({ pools, clock }: Sources, { owner, questdb }: Reader, request: CoverageRequest) {
  const madeMs = clock()
  const asOfMs = await databaseNowMs(pools.of(owner))
  const { bbox } = request
  const areas = bbox && coverageAreas(bbox)
  const inside = bbox && ((h3: string) => contains(bbox, ...cellCentre(h3)))
  const filters = (await voteFilters({ pool: pools.of(owner), questdb }, request, madeMs)).map((filter) => ({
    ...filter,
    areas,
  }))
  // The areas are larger than the box. Fetch only votes inside the box.
  const limits = { counts: inside, maxCells }
  const chosen =
    request.h3Resolution === undefined
      ? await finestFitting(questdb, filters, limits)
      : await cellsAt(questdb, filters, request.h3Resolution, limits)
  const facts = { h3Resolution: chosen.resolution, madeMs, asOfMs }
  return { facts, items: await readCells(questdb, filters, chosen) }
}
