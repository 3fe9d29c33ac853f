import type { Clock } from '#core/clock'
import { createCoverageLists } from '#fleet-map/coverage/coverage-lists'
import { createDeadZoneLists } from '#fleet-map/coverage/dead-zone-lists'
import { createOperatorRanks } from '#fleet-map/coverage/operator-lists'
import { createRouteCells } from '#fleet-map/coverage/route-cells'
import { createSignalTrends } from '#fleet-map/coverage/signal-trends'
import { createDataUseTotals } from '#fleet-map/device-list/data-use-totals'
import { createNearestTowns } from '#fleet-map/device-list/nearest-towns'
import { createDwellLists } from '#fleet-map/dwells/dwell-lists'
import { createLargeAnswers } from '#fleet-map/large-answers'
import { createLiveMaps } from '#fleet-map/live/live-maps'
import { cacheBytes } from '#fleet-map/memory-limits'
import { createRevisions } from '#fleet-map/revisions'
import { createSelections } from '#fleet-map/selection/selections'
import { createGpsStreams } from '#fleet-map/streams/gps-streams'
import { createPastMaps } from '#fleet-map/tiles/past-maps'
import { createTileSources } from '#fleet-map/tiles/tile-sources'
import { createTowns } from '#fleet-map/towns/towns'
import type { Logger } from '#http/request-log'
import type { FairPool } from '#postgres/fair-pool'
import type { Readers } from '#questdb/copies/readers'
import { createDwellSignals } from '#questdb/fleet/dwell-signals'

/** Everything that the fleet routes read. All callers of a process share it. */
export type FleetMaps = ReturnType<typeof createFleetMaps>

export function createFleetMaps(parts: {
  pools: FairPool
  readers: Readers
  clock: Clock
  logger: Pick<Logger, 'error'>
}) {
  const towns = createTowns((error) => parts.logger.error({ err: error }, 'towns_unreadable'))
  const sources = { ...parts, revisions: createRevisions(), dwellSignals: createDwellSignals() }
  const fleet = {
    revisions: sources.revisions,
    live: createLiveMaps(sources),
    past: createPastMaps(sources),
    coverage: createCoverageLists(sources),
    deadZones: createDeadZoneLists(parts),
    routeCells: createRouteCells(parts),
    signalTrends: createSignalTrends(parts),
    operatorRanks: createOperatorRanks(parts),
    dwells: createDwellLists(sources),
    dwellSignals: sources.dwellSignals,
    selections: createSelections(sources.revisions, cacheBytes),
    answers: createLargeAnswers(parts.clock),
    tiles: createTileSources(parts.clock),
    towns,
    nearestTowns: createNearestTowns({ ...parts, towns }),
    dataUse: createDataUseTotals(parts),
  }
  return { ...fleet, streams: createGpsStreams({ fleet, readers: parts.readers }) }
}
