import type { SignalThresholds } from '../api/schemas.ts'
import type { CoverageMetric, Shading } from '../map/surface.ts'

/** For each metric, the lower bounds of the classes poor to excellent. */
export type Thresholds = Pick<SignalThresholds, 'rsrpDbm' | 'sinrDb'>

/** Lower bounds of the classes poor to excellent, as shares of samples with service. */
export const serviceBounds = [0.5, 0.8, 0.95, 0.99] as const

/** Returns the metric with the bounds of its classes. */
export const shadingOf = (metric: CoverageMetric, { rsrpDbm, sinrDb }: Thresholds): Shading => ({
  metric,
  bounds: metric === 'service' ? serviceBounds : metric === 'rsrp' ? rsrpDbm : sinrDb,
})
