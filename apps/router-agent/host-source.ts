import { freemem, loadavg, totalmem } from 'node:os'
import type { Sample, SampleSource } from './sample.ts'

type HostFacts = { firmware: () => string; rebootReason: string | undefined; bootedAtMs: number }

const everyMs = 60_000

/** The health of the machine the agent runs on, once a minute; the first sample after a start says why it started. */
export function createHostSource({ firmware, rebootReason, bootedAtMs }: HostFacts): SampleSource {
  let nextMs = bootedAtMs
  let reason = rebootReason
  return {
    collect(nowMs) {
      if (nowMs < nextMs) return []
      nextMs = nowMs + everyMs
      const sample: Sample = {
        ts: nowMs,
        kind: 'system',
        load1: Math.round((loadavg()[0] ?? 0) * 100) / 100,
        memUsedPct: Math.round((1 - freemem() / totalmem()) * 1_000) / 10,
        uptimeS: Math.round((nowMs - bootedAtMs) / 1_000),
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

/** Several sources as one: all samples by time; the link and the end are those of the first. */
export function mergeSources(lead: SampleSource, ...others: SampleSource[]): SampleSource {
  return {
    collect: (nowMs) =>
      [lead, ...others].flatMap((source) => source.collect(nowMs)).sort((earlier, later) => earlier.ts - later.ts),
    isLinkUp: lead.isLinkUp,
    isExhausted: lead.isExhausted,
  }
}
