import type { CoverageLists } from '#fleet-map/coverage/coverage-lists'
import type { DeadZoneLists } from '#fleet-map/coverage/dead-zone-lists'
import type { RouteCells } from '#fleet-map/coverage/route-cells'
import type { SignalTrends } from '#fleet-map/coverage/signal-trends'
import type { DwellLists } from '#fleet-map/dwells/dwell-lists'
import type { KeptSelections } from '#fleet-map/gps/kept-selections'
import type { SeenDevices } from '#fleet-map/gps/seen-devices'
import type { SharedAnswers } from '#fleet-map/gps/shared-answers'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import type { Revisions } from '#fleet-map/revisions'
import type { TileSources } from '#fleet-map/tiles/tile-sources'
import type { DwellSignals } from '#questdb/fleet/dwell-signals'

/** The sources of all fleet map responses. All readers of a process share them. */
export type FleetSources = {
  revisions: Revisions
  live: LiveMaps
  coverage: CoverageLists
  deadZones: DeadZoneLists
  routeCells: RouteCells
  signalTrends: SignalTrends
  dwells: DwellLists
  dwellSignals: DwellSignals
  seen: SeenDevices
  selections: KeptSelections
  answers: SharedAnswers
  tiles: TileSources
}
