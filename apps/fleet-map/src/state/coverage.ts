import type { CoverageCell, Quality } from '../api/types.ts'
import { noServiceBelow } from '../map/area-layers.ts'
import type { CoverageMetric, ShadedCell, Shading } from '../map/surface.ts'

/** `GET /signal-thresholds`: for each metric, the lower bounds of the classes poor to excellent. */
export type Thresholds = {
  rsrpDbm: number[]
  sinrDb: number[]
}

const classes: Quality[] = ['none', 'poor', 'fair', 'good', 'excellent']

/** Returns the class of a value. A value at a threshold belongs to the better class. */
function classOf(value: number | null, bounds: readonly number[]): Quality | null {
  if (value === null) return null
  return classes[bounds.filter((bound) => value >= bound).length] ?? null
}

/** Lower bounds of the classes poor to excellent, as shares of samples with service. */
export const serviceBounds = [0.5, 0.8, 0.95, 0.99] as const

/** Returns the metric with the bounds of its classes. */
export const shadingOf = (metric: CoverageMetric, { rsrpDbm, sinrDb }: Thresholds): Shading => ({
  metric,
  bounds: metric === 'service' ? serviceBounds : metric === 'rsrp' ? rsrpDbm : sinrDb,
})

/** Classifies each cell by a metric. Marks cells where less than 5 % of the samples had service. */
export function shade(cells: readonly CoverageCell[], metric: CoverageMetric, thresholds: Thresholds): ShadedCell[] {
  return cells.map((cell) => ({
    cell,
    noService: cell.serviceRatio < noServiceBelow,
    quality:
      metric === 'service'
        ? classOf(cell.serviceRatio, serviceBounds)
        : metric === 'rsrp'
          ? classOf(cell.rsrpDbm.p50, thresholds.rsrpDbm)
          : classOf(cell.sinrDb.p50, thresholds.sinrDb),
  }))
}
