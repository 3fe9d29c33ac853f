import type { Clock } from '#core/clock'
import { createCoverageLists } from '#fleet-map/coverage/coverage-lists'
import { createDeadZoneLists } from '#fleet-map/coverage/dead-zone-lists'
import { createRouteCells } from '#fleet-map/coverage/route-cells'
import { createSignalTrends } from '#fleet-map/coverage/signal-trends'
import { createDwellLists } from '#fleet-map/dwells/dwell-lists'
import type { FleetSources } from '#fleet-map/fleet-sources'
import { createKeptSelections } from '#fleet-map/gps/kept-selections'
import { createSeenDevices } from '#fleet-map/gps/seen-devices'
import { createSharedAnswers } from '#fleet-map/gps/shared-answers'
import { createLiveMaps } from '#fleet-map/live/live-maps'
import { cacheBytes } from '#fleet-map/memory-limits'
import { createRevisions } from '#fleet-map/revisions'
import { createGpsStreams, type GpsStreams } from '#fleet-map/streams/gps-streams'
import { createTileSources } from '#fleet-map/tiles/tile-sources'
import type { FairPool } from '#postgres/fair-pool'
import type { Readers } from '#questdb/copies/readers'
import { createDwellSignals } from '#questdb/fleet/dwell-signals'

/** Everything that the fleet routes read; one per process. */
export type FleetMaps = FleetSources & { streams: GpsStreams }

export function createFleetMaps(parts: { pools: FairPool; readers: Readers; clock: Clock }): FleetMaps {
  const sources = { ...parts, revisions: createRevisions(), dwellSignals: createDwellSignals() }
  const fleet = {
    revisions: sources.revisions,
    live: createLiveMaps(sources),
    coverage: createCoverageLists(sources),
    deadZones: createDeadZoneLists(parts),
    routeCells: createRouteCells(parts),
    signalTrends: createSignalTrends(parts),
    dwells: createDwellLists(sources),
    dwellSignals: sources.dwellSignals,
    seen: createSeenDevices(cacheBytes.seenDevices),
    selections: createKeptSelections(cacheBytes.selections),
    answers: createSharedAnswers(parts.clock),
    tiles: createTileSources(parts.clock),
  }
  return { ...fleet, streams: createGpsStreams({ fleet, readers: parts.readers }) }
}
