import { freemem, loadavg, totalmem } from 'node:os'
import { createPacing } from './pacing.ts'
import type { Sample, SampleSource } from './sample.ts'

type HostFacts = { firmware: () => string; rebootReason: string | undefined; bootedAtMs: number }

const everyMs = 60_000

/** Samples the health of this machine once a minute. The first sample after a start has the reason of the restart. */
export function createHostSource({ firmware, rebootReason, bootedAtMs }: HostFacts): SampleSource {
  const isDue = createPacing(everyMs, bootedAtMs)
  // The clock of a router is often wrong until it has a link.
  const startedAtMs = performance.now()
  let reason = rebootReason
  return {
    collect(nowMs) {
      if (!isDue(nowMs)) return []
      const sample: Sample = {
        ts: nowMs,
        kind: 'system',
        load1: Math.round((loadavg()[0] ?? 0) * 100) / 100,
        memUsedPct: Math.round((1 - freemem() / totalmem()) * 1_000) / 10,
        uptimeS: Math.round((performance.now() - startedAtMs) / 1_000),
        firmware: firmware(),
        ...(reason === undefined ? {} : { rebootReason: reason }),
      }
      reason = undefined
      return [sample]
    },
    isLinkUp: () => true,
    isExhausted: () => false,
  }
}

/** Merges sources: all samples in order of time, with the link and the end of the first source. */
export function mergeSources(lead: SampleSource, ...others: SampleSource[]): SampleSource {
  return {
    collect: (nowMs) =>
      [lead, ...others].flatMap((source) => source.collect(nowMs)).sort((earlier, later) => earlier.ts - later.ts),
    isLinkUp: lead.isLinkUp,
    isExhausted: lead.isExhausted,
  }
}
