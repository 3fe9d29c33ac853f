import type { CoverageLists } from '#fleet-map/coverage-lists'
import type { DeadZoneLists } from '#fleet-map/dead-zone-lists'
import type { DwellLists } from '#fleet-map/dwell-lists'
import type { KeptSelections } from '#fleet-map/kept-selections'
import type { LiveMaps } from '#fleet-map/live-maps'
import type { Revisions } from '#fleet-map/revisions'
import type { RouteCells } from '#fleet-map/route-cells'
import type { SeenDevices } from '#fleet-map/seen-devices'
import type { DwellSignals } from '#questdb/dwell-signals'
import type { SharedAnswers } from './shared-answers.ts'

/** The sources of all fleet map responses. All readers of a process share them. */
export type FleetSources = {
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
}
