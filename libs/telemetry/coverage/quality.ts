/** From worst to best; `none` is no service or a signal too weak to use. */
export const qualities = ['none', 'poor', 'fair', 'good', 'excellent'] as const
export type Quality = (typeof qualities)[number]

type SignalMetric = 'rsrpDbm' | 'sinrDb' | 'rssiDbm'

/** The lowest value of poor, fair, good and excellent; anything below the first is `none`. */
export type QualityBounds = readonly [poor: number, fair: number, good: number, excellent: number]

export type RatThresholds = Partial<Record<SignalMetric, QualityBounds>>

const lteThresholds = {
  rsrpDbm: [-115, -105, -95, -85],
  sinrDb: [-3, 1, 5, 13],
} as const satisfies RatThresholds
const gsmThresholds: RatThresholds = { rssiDbm: [-104, -98, -89, -80] }

/** Thresholds by radio access technology: data, so that a deployment can override a RAT's and the legend follows. */
export const signalThresholds = {
  gsm: gsmThresholds,
  umts: gsmThresholds,
  hspa: gsmThresholds,
  lte: lteThresholds,
  'lte-m': lteThresholds,
  'nb-iot': lteThresholds,
  'nr-nsa': lteThresholds,
  'nr-sa': lteThresholds,
} as const satisfies Record<string, RatThresholds>

export type SignalThresholds = Readonly<Record<string, RatThresholds>>

/** Colours of the classes, distinguishable for colour-blind readers; no service is hatched grey. */
export const qualityColors: Record<Quality, string> = {
  none: '#d7191c',
  poor: '#fdae61',
  fair: '#ffffbf',
  good: '#abd9e9',
  excellent: '#2c7bb6',
}

/** Radio measurements of a cellular row, a query result or a cell's medians. */
export type Signal = {
  rat?: string | null
  rsrpDbm?: number | null
  sinrDb?: number | null
  rssiDbm?: number | null
}

/** `qualityBasis` is the metric that decided, `rat` without service, or null without any metric. */
export type SignalQuality =
  | { quality: Quality; qualityBasis: SignalMetric | 'rat' }
  | { quality: null; qualityBasis: null }

const unknown: SignalQuality = { quality: null, qualityBasis: null }

/** Class of one value: a value at a bound belongs to the better class. */
export function classify(value: number, bounds: QualityBounds): Quality {
  let reached = 0
  while (reached < bounds.length && value >= (bounds[reached] ?? Number.POSITIVE_INFINITY)) reached++
  return qualities[reached] ?? 'excellent'
}

const metrics: readonly SignalMetric[] = ['rsrpDbm', 'sinrDb', 'rssiDbm']

/**
 * Returns the quality of a signal: the worst class of its RAT's metrics. For nr-nsa these are the metrics of the LTE
 * anchor. LTE thresholds apply if no RAT was sent.
 */
export function signalQuality(signal: Signal, thresholds: SignalThresholds = signalThresholds): SignalQuality {
  if (signal.rat === 'none') return { quality: 'none', qualityBasis: 'rat' }
  const bounds: RatThresholds = thresholds[signal.rat ?? 'lte'] ?? lteThresholds
  let worst: SignalQuality = unknown
  for (const metric of metrics) {
    const value = signal[metric]
    const metricBounds = bounds[metric]
    if (value === null || value === undefined || metricBounds === undefined) continue
    const quality = classify(value, metricBounds)
    if (worst.quality === null || qualities.indexOf(quality) < qualities.indexOf(worst.quality)) {
      worst = { quality, qualityBasis: metric }
    }
  }
  return worst
}
