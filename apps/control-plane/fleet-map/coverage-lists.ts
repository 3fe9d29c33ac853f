import type { Clock } from '#core/clock'
import { type BoundingBox, contains } from '#fleet/fleet-map/filter'
import { deviceIdsWith, latecomers } from '#fleet/fleet-map/registry'
import type { Revisions } from '#fleet/fleet-map/revisions'
import { createSharedLists, type SharedLists } from '#fleet/fleet-map/shared-lists'
import type { Pool } from '#postgres/pool'
import { countSinr, countVoters, countVotes } from '#questdb/coverage'
import { cellCentre, coverageAreas } from '#questdb/coverage-areas'
import { type CoverageCell, coverageCells } from '#questdb/coverage-cells'
import { cellsAt, finestFitting } from '#questdb/coverage-resolution'
import { earlyVoters, type VoteFilter } from '#questdb/coverage-source'
import type { QuestdbSql } from '#questdb/sql'

/** An organization and how far back its plan and the reader look. */
export type OrganizationWindow = { organizationId: string; windowMs: number }

/** What of the coverage somebody wants to see. */
export type CoverageRequest = {
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

type Sources = { pool: Pool; questdb: QuestdbSql; clock: Clock; revisions: Revisions }

// The views lag by up to a minute and a half; with this a reader sees nothing older than two minutes.
const longestLifeMs = 25_000

/** Coverage cells, counted from the votes and shared among all who look at the same. */
export const createCoverageLists = (sources: Sources): CoverageLists =>
  createSharedLists({
    ...sources,
    longestLifeMs,
    keyOf: ({ members: _members, ...request }) => JSON.stringify(request),
    // The resolution is part of an index: after a change of it every cell is another one.
    identify: (cell) => cell.h3,
    contentOf: (cell) => JSON.stringify(cell),
    make: (request) => readCells(sources, request),
  })

async function readCells({ pool, questdb, clock }: Sources, request: CoverageRequest) {
  const nowMs = clock()
  const { bbox, tags, members, rat, plmn } = request
  const areas = bbox && coverageAreas(bbox)
  const inside = bbox && ((h3: string) => contains(bbox, ...cellCentre(h3)))
  const filters = await Promise.all(
    request.organizations.map(async ({ organizationId, windowMs }): Promise<VoteFilter> => {
      const fromMs = nowMs - windowMs
      const deviceIds = tags || members ? await deviceIdsWith(pool, organizationId, { tags, members }) : undefined
      const late = await latecomers(pool, organizationId, fromMs)
      const notBefore = late.length > 0 ? await earlyVoters(questdb, organizationId, fromMs, late) : undefined
      return { organizationId, fromMs, areas, deviceIds, rat, plmn, notBefore }
    }),
  )
  // The areas reach far over the box: of all the votes in them only those that will be shown are fetched.
  const { resolution: h3Resolution, cells } =
    request.h3Resolution === undefined
      ? await finestFitting(questdb, filters, inside)
      : await cellsAt(questdb, filters, request.h3Resolution, inside)
  const ofEach = <Counted>(count: (questdb: QuestdbSql, filter: VoteFilter, resolution: number) => Promise<Counted>) =>
    Promise.all(filters.map((filter) => count(questdb, { ...filter, cells }, h3Resolution)))
  // One after the other: each keeps all of QuestDB's workers busy, and connections are needed for other readers.
  const votes = await ofEach(countVotes)
  const sinrCounts = await ofEach(countSinr)
  const counted = await ofEach(countVoters)
  const voters = new Map<string, number>()
  for (const [h3, devices] of counted.flatMap((counts) => [...counts])) voters.set(h3, (voters.get(h3) ?? 0) + devices)
  const items = coverageCells(votes.flat(), sinrCounts.flat(), voters)
  return { facts: { h3Resolution }, items: inside ? items.filter(({ h3 }) => inside(h3)) : items }
}
