import type { CoverageCell, Quality } from '../api/types.ts'
import type { CoverageMetric, ShadedCell } from '../map/surface.ts'

/** `GET /signal-thresholds`: the lower bound of each class from poor upwards, by metric. */
export type Thresholds = {
  rsrpDbm: number[]
  sinrDb: number[]
}

const classes: Quality[] = ['none', 'poor', 'fair', 'good', 'excellent']

/** The class of a value; a value at a threshold belongs to the better class. */
export function classOf(value: number | null, bounds: readonly number[]): Quality | null {
  if (value === null) return null
  return classes[bounds.filter((bound) => value >= bound).length] ?? null
}

/** Share of votes with service, from which a cell counts as the next better class. */
export const serviceBounds = [0.5, 0.8, 0.95, 0.99] as const

/** What one metric says about each cell. Cells in which hardly anything had service are hatched, whatever the metric. */
export function shade(cells: readonly CoverageCell[], metric: CoverageMetric, thresholds: Thresholds): ShadedCell[] {
  return cells.map((cell) => ({
    cell,
    noService: cell.serviceRatio < 0.05,
    quality:
      metric === 'service'
        ? classOf(cell.serviceRatio, serviceBounds)
        : metric === 'rsrp'
          ? classOf(cell.rsrpDbm.p50, thresholds.rsrpDbm)
          : classOf(cell.sinrDb.p50, thresholds.sinrDb),
  }))
}
