import { addTo } from '#core/counts'
import { type Histogram, percentilesOf } from './coverage.ts'
import { countMoments, type Moments, noMoments } from './moments.ts'
import { classify, type Quality, signalThresholds } from './quality.ts'

/** Votes that agree in service and RSRP; `rsrpBin` is in whole dBm. */
export type SignalVotes = { isServed: boolean; rsrpBin: number | null; votes: number }

/**
 * The signal of many votes. Percentiles are nearest rank over votes with service, null where nothing was measured.
 * `byQuality` counts votes by the class of their RSRP: `none` also without service, `unknown` without RSRP.
 */
export type SignalSummary = {
  samples: number
  serviceRatio: number
  noServiceS: number
  rsrpDbm: { p10: number | null; p50: number | null; p90: number | null }
  byQuality: Record<Quality | 'unknown', number>
}

const secondsPerMoment = 60

/** Adds up votes. The service ratio and the time without service are those of moments. */
export function summarizeSignal(votes: Iterable<SignalVotes>, more: Moments = noMoments): SignalSummary {
  const rsrp: Histogram = new Map()
  const byQuality = { none: 0, poor: 0, fair: 0, good: 0, excellent: 0, unknown: 0 }
  let samples = 0
  let inService = 0
  for (const { isServed, rsrpBin, votes: count } of votes) {
    samples += count
    byQuality[classOf(isServed, rsrpBin)] += count
    if (!isServed) continue
    inService += count
    if (rsrpBin !== null) addTo(rsrp, rsrpBin, count)
  }
  const { moments, dark } = countMoments({ samples, inService }, more)
  return {
    samples,
    serviceRatio: moments <= 0 ? 0 : (moments - dark) / moments,
    noServiceS: dark * secondsPerMoment,
    rsrpDbm: percentilesOf(rsrp),
    byQuality,
  }
}

function classOf(isServed: boolean, rsrpBin: number | null): Quality | 'unknown' {
  if (!isServed) return 'none'
  return rsrpBin === null ? 'unknown' : classify(rsrpBin, signalThresholds.lte.rsrpDbm)
}

/** The share of votes with a poor signal or none. */
const badShare = ({ samples, byQuality: { none, poor } }: SignalSummary): number => (none + poor) / Math.max(1, samples)

/** Compares summaries: the larger share of votes with a poor signal or none is first, then more votes. */
export const worstSignalFirst = (a: SignalSummary, b: SignalSummary): number =>
  badShare(b) - badShare(a) || b.samples - a.samples
