import type { Clock } from '#core/clock'
import { createKeptSelections, type KeptSelections } from '#fleet/fleet-map/kept-selections'
import { createRevisions, type Revisions } from '#fleet/fleet-map/revisions'
import { createSeenDevices, type SeenDevices } from '#fleet/fleet-map/seen-devices'
import type { Pool } from '#postgres/pool'
import { createDwellSignals, type DwellSignals } from '#questdb/dwell-signals'
import type { Readers } from '#questdb/readers'
import { type CoverageLists, createCoverageLists } from './coverage-lists.ts'
import { createDeadZoneLists, type DeadZoneLists } from './dead-zone-lists.ts'
import { createDwellLists, type DwellLists } from './dwell-lists.ts'
import { createGpsStreams, type GpsStreams } from './gps-streams.ts'
import { createLiveMaps, type LiveMaps } from './live-maps.ts'
import { cacheBytes } from './memory-limits.ts'
import { createRouteCells, type RouteCells } from './route-cells.ts'
import { createSharedAnswers, type SharedAnswers } from './shared-answers.ts'

/** Everything the fleet routes read from; one per process, so that readers share it. */
export type FleetMaps = {
  revisions: Revisions
  live: LiveMaps
  coverage: CoverageLists
  deadZones: DeadZoneLists
  routeCells: RouteCells
  dwells: DwellLists
  dwellSignals: DwellSignals
  seen: SeenDevices
  selections: KeptSelections
  answers: SharedAnswers
  streams: GpsStreams
}

export function createFleetMaps(parts: { pool: Pool; readers: Readers; clock: Clock }): FleetMaps {
  const sources = { ...parts, revisions: createRevisions(), dwellSignals: createDwellSignals() }
  const fleet = {
    revisions: sources.revisions,
    live: createLiveMaps(sources),
    coverage: createCoverageLists(sources),
    deadZones: createDeadZoneLists(parts),
    routeCells: createRouteCells(parts),
    dwells: createDwellLists(sources),
    dwellSignals: sources.dwellSignals,
    seen: createSeenDevices(cacheBytes.seenDevices),
    selections: createKeptSelections(cacheBytes.selections),
    answers: createSharedAnswers(parts.clock),
  }
  return { ...fleet, streams: createGpsStreams({ fleet, readers: parts.readers }) }
}
