import type { Quality, SignalTrend } from '../../api/schemas.ts'

type SignalSummary = SignalTrend['operators'][number] | SignalTrend['steps'][number]

/** Votes by the class of their RSRP. */
export type ByQuality = SignalSummary['byQuality']

/** From best to worst, as the charts draw them from the bottom or from the left. */
export const qualityOrder = ['excellent', 'good', 'fair', 'poor', 'none'] as const satisfies readonly Quality[]

/** Returns the share of each class among the votes with a known class, best first. */
export function shares(byQuality: ByQuality): { quality: Quality; share: number }[] {
  const known = qualityOrder.reduce((sum, quality) => sum + byQuality[quality], 0)
  return qualityOrder.map((quality) => ({ quality, share: known === 0 ? 0 : byQuality[quality] / known }))
}

/** Returns the votes of all summaries together. */
export function addUp(summaries: readonly SignalSummary[]): { samples: number; served: number; byQuality: ByQuality } {
  const byQuality: ByQuality = { none: 0, poor: 0, fair: 0, good: 0, excellent: 0, unknown: 0 }
  let [samples, served] = [0, 0]
  for (const summary of summaries) {
    samples += summary.samples
    served += summary.samples * summary.serviceRatio
    for (const quality of [...qualityOrder, 'unknown'] as const) byQuality[quality] += summary.byQuality[quality]
  }
  return { samples, served, byQuality }
}

/** Formats a share as "98.4 %". Only everything is 100 %. */
export function percent(share: number): string {
  const tenths = share >= 1 ? 1_000 : Math.min(999, Math.round(share * 1_000))
  return `${(tenths / 10).toFixed(tenths === 1_000 || tenths === 0 ? 0 : 1)} %`
}
