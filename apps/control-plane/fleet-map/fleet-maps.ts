import type { Clock } from '#core/clock'
import { createCoverageLists } from '#fleet-map/coverage-lists'
import { createDeadZoneLists } from '#fleet-map/dead-zone-lists'
import { createDwellLists } from '#fleet-map/dwell-lists'
import { createKeptSelections } from '#fleet-map/kept-selections'
import { createLiveMaps } from '#fleet-map/live-maps'
import { cacheBytes } from '#fleet-map/memory-limits'
import { createRevisions } from '#fleet-map/revisions'
import { createRouteCells } from '#fleet-map/route-cells'
import { createSeenDevices } from '#fleet-map/seen-devices'
import type { Pool } from '#postgres/pool'
import { createDwellSignals } from '#questdb/dwell-signals'
import type { Readers } from '#questdb/readers'
import type { FleetSources } from './fleet-sources.ts'
import { createGpsStreams, type GpsStreams } from './gps-streams.ts'
import { createSharedAnswers } from './shared-answers.ts'

/** Everything that the fleet routes read; one per process. */
export type FleetMaps = FleetSources & { streams: GpsStreams }

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
