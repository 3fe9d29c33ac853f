import type { Clock } from '#core/clock'
import { type CoverageLists, createCoverageLists } from '#fleet-map/coverage-lists'
import { createDeadZoneLists, type DeadZoneLists } from '#fleet-map/dead-zone-lists'
import { createDwellLists, type DwellLists } from '#fleet-map/dwell-lists'
import { createKeptSelections, type KeptSelections } from '#fleet-map/kept-selections'
import { createLiveMaps, type LiveMaps } from '#fleet-map/live-maps'
import { cacheBytes } from '#fleet-map/memory-limits'
import { createRevisions, type Revisions } from '#fleet-map/revisions'
import { createRouteCells, type RouteCells } from '#fleet-map/route-cells'
import { createSeenDevices, type SeenDevices } from '#fleet-map/seen-devices'
import type { Pool } from '#postgres/pool'
import { createDwellSignals, type DwellSignals } from '#questdb/dwell-signals'
import type { Readers } from '#questdb/readers'
import { createGpsStreams, type GpsStreams } from './gps-streams.ts'
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
