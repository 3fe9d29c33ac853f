import type { AcceptedSample } from '#telemetry/report/accept'
import { sampleSource } from '#telemetry/report/sources'
import type { DeadReport } from '#telemetry-log/dead-letters/dead-letters'

/** Samples that a replay has appended to the log and that are not stored yet. */
export type LoggedSamples = {
  add(letter: DeadReport, samples: readonly AcceptedSample[]): void
  /** Returns whether the log has this sample from a report that was received at the same time or later. */
  supersedes(letter: DeadReport, sample: AcceptedSample): boolean
}

export function createLoggedSamples(): LoggedSamples {
  const receivedAtMs = new Map<string, number>()
  const keyOf = ({ deviceId }: DeadReport, { kind, tsMs, sample }: AcceptedSample) =>
    `${deviceId} ${kind} ${tsMs} ${sampleSource(kind, sample)}`
  return {
    add(letter, samples) {
      for (const sample of samples) receivedAtMs.set(keyOf(letter, sample), letter.receivedAtMs)
    },
    supersedes: (letter, sample) =>
      (receivedAtMs.get(keyOf(letter, sample)) ?? Number.NEGATIVE_INFINITY) >= letter.receivedAtMs,
  }
}
