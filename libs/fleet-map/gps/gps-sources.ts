import type { CoverageLists } from '#fleet-map/coverage/coverage-lists'
import type { DwellLists } from '#fleet-map/dwells/dwell-lists'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import type { Revisions } from '#fleet-map/revisions'
import type { Selections } from '#fleet-map/selection/selections'

/** What the responses of fleet GPS are made from. All readers of a process share it. */
export type GpsSources = {
  revisions: Revisions
  live: LiveMaps
  coverage: CoverageLists
  dwells: DwellLists
  selections: Selections
}
