import type { Kind } from '#telemetry/report/fields'
import type { Refused } from './adapter.ts'
import type { DroppedFields } from './dropped-fields.ts'
import type { MappedFields } from './mapping.ts'

export type AdapterSample = Record<string, unknown> & { kind: Kind; ts?: number }

/** The limits of `POST /telemetry`. */
const maxSamples = 1_000
const maxCharacters = 256
const maxNumber = 2 ** 53
const maxEnvelopeBytes = 1024 * 1024

export type SampleSet = {
  /** Returns the sample of a kind and time, or undefined if there are too many. Without a time: the time of receipt. */
  sampleAt(kind: Kind, tsMs: number | undefined): AdapterSample | undefined
  samples(): AdapterSample[]
}

/** Creates the samples of a report. Values of one kind and time become one sample, because they are stored as one row. */
export function createSampleSet(): SampleSet {
  const samples = new Map<string, AdapterSample>()
  return {
    sampleAt(kind, tsMs) {
      const key = `${kind} ${tsMs}`
      let sample = samples.get(key)
      if (sample === undefined && samples.size < maxSamples) {
        sample = tsMs === undefined ? { kind } : { kind, ts: tsMs }
        samples.set(key, sample)
      }
      return sample
    },
    samples: () => [...samples.values()],
  }
}

/** Adds the fields of an object to the samples of one time. Returns false if there are too many samples. */
export function addFields(
  set: SampleSet,
  fields: MappedFields,
  tsMs: number | undefined,
  dropped: DroppedFields,
): boolean {
  for (const [kind, values] of fields) {
    const sample = set.sampleAt(kind, tsMs)
    if (!sample) return false
    for (const [field, value] of values) setField(sample, field, value, dropped)
  }
  return true
}

export const tooManySamples: Refused = {
  ok: false,
  status: 413,
  code: 'too_many_samples',
  detail: `A report may have at most ${maxSamples} samples (values of one kind and time).`,
}

/** Sets a field. A value that a report cannot hold would reject the whole sample, so it is dropped and counted. */
export function setField(sample: AdapterSample, field: string, value: unknown, dropped: DroppedFields): void {
  if (isReportable(value)) sample[field] = value
  else dropped.add(`${sample.kind}.${field}`, 'unusable')
}

function isReportable(value: unknown): boolean {
  if (typeof value === 'number') return value >= -maxNumber && value <= maxNumber
  return typeof value === 'string' ? value.length <= maxCharacters : Array.isArray(value)
}

/**
 * Returns a report in the format of `POST /telemetry`. Leaves out samples without a field; undefined if none is left.
 * `sentAtMs`: the router's clock when it sent the report, which corrects a wrong clock.
 */
export function envelopeOf(
  samples: readonly AdapterSample[],
  sentAtMs?: number,
): { ok: true; envelope: Buffer | undefined } | Refused {
  const filled = samples.filter((sample) => Object.keys(sample).some((name) => name !== 'kind' && name !== 'ts'))
  if (filled.length === 0) return { ok: true, envelope: undefined }
  const report = { ...(sentAtMs === undefined ? {} : { sentAt: sentAtMs }), samples: filled }
  const envelope = Buffer.from(JSON.stringify(report))
  if (envelope.length <= maxEnvelopeBytes) return { ok: true, envelope }
  const detail = `The report must not exceed ${maxEnvelopeBytes} bytes after its translation.`
  return { ok: false, status: 413, code: 'body_too_large', detail }
}
