import type { Clock } from '#core/clock'
import { createKeptSelections, type KeptSelections } from '#fleet/fleet-map/kept-selections'
import { createRevisions, type Revisions } from '#fleet/fleet-map/revisions'
import { createSeenDevices, type SeenDevices } from '#fleet/fleet-map/seen-devices'
import type { Pool } from '#postgres/pool'
import { createDwellSignals, type DwellSignals } from '#questdb/dwell-signals'
import type { QuestdbSql } from '#questdb/sql'
import { type CoverageLists, createCoverageLists } from './coverage-lists.ts'
import { createDwellLists, type DwellLists } from './dwell-lists.ts'
import { createLiveMaps, type LiveMaps } from './live-maps.ts'
import { createSharedAnswers, type SharedAnswers } from './shared-answers.ts'

/** Everything the fleet routes read from; one per process, so that readers share it. */
export type FleetMaps = {
  questdb: QuestdbSql
  revisions: Revisions
  live: LiveMaps
  coverage: CoverageLists
  dwells: DwellLists
  dwellSignals: DwellSignals
  seen: SeenDevices
  selections: KeptSelections
  answers: SharedAnswers
}

export function createFleetMaps(parts: { pool: Pool; questdb: QuestdbSql; clock: Clock }): FleetMaps {
  const sources = { ...parts, revisions: createRevisions(), dwellSignals: createDwellSignals(parts.questdb) }
  return {
    questdb: parts.questdb,
    revisions: sources.revisions,
    live: createLiveMaps(sources),
    coverage: createCoverageLists(sources),
    dwells: createDwellLists(sources),
    dwellSignals: sources.dwellSignals,
    seen: createSeenDevices(),
    selections: createKeptSelections(),
    answers: createSharedAnswers(parts.clock),
  }
}
