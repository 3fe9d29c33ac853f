import type { Kind } from '#telemetry/report/fields'
import { sampleSource } from '#telemetry/report/sources'
import { type AdapterRejection, type Refused, refuse, type Translation } from './adapter.ts'
import type { AdapterSample } from './adapter-sample.ts'
import { type CorrectedTimes, clockFaultOf, correctTimes } from './clock.ts'
import type { DroppedFields } from './dropped-fields.ts'
import { nameLostService } from './lost-service.ts'
import type { MappedFields } from './mapping.ts'
import { isQuality, unknownWord } from './unknown-quality.ts'

/** The limits of `POST /telemetry`. */
const maxSamples = 1_000
const maxCharacters = 256
const maxNumber = 2 ** 53
const maxEnvelopeBytes = 1024 * 1024

export type SampleSet = {
  /**
   * Returns the sample of a kind, time and source, or undefined if there are too many. Without a time: the time of receipt.
   * `source`: the modem and interface, as `sampleSource`.
   */
  sampleAt(kind: Kind, tsMs: number | undefined, source?: string): AdapterSample | undefined
  samples(): AdapterSample[]
}

/** Creates the samples of a report. Values of one kind, time and source become one sample, because they are stored as one row. */
export function createSampleSet(): SampleSet {
  const samples = new Map<string, AdapterSample>()
  return {
    sampleAt(kind, tsMs, source = '') {
      const key = `${kind} ${tsMs} ${source}`
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

/** Adds the fields of an object to the samples of one time and modem. Returns false if there are too many samples. */
export function addFields(
  set: SampleSet,
  fields: MappedFields,
  tsMs: number | undefined,
  dropped: DroppedFields,
): boolean {
  for (const [kind, values] of fields) {
    const sample = set.sampleAt(kind, tsMs, sampleSource(kind, Object.fromEntries(values)))
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
  if (isReportable(value)) {
    sample[field] = value
    return
  }
  dropped.add(`${sample.kind}.${field}`, 'unusable')
  setUnknown(sample, field)
}

/** Notes that a value was sent which cannot be read. It only matters for the quality of a position. */
export function setUnknown(sample: AdapterSample, field: string): void {
  if (isQuality(`${sample.kind}.${field}`)) sample[field] = unknownWord
}

function isReportable(value: unknown): boolean {
  if (typeof value === 'number') return value >= -maxNumber && value <= maxNumber
  return typeof value === 'string' ? value.length <= maxCharacters : Array.isArray(value)
}

type Report = {
  set: SampleSet
  dropped: DroppedFields
  rejected?: AdapterRejection[]
  receivedAtMs: number
  /** The router's clock when it sent the report. Then it corrects the times, and no other correction applies. */
  sentAtMs?: number | undefined
  /** False if the router has kept the report before it sent it. */
  isLive?: boolean
}

/**
 * Returns a report in the format of `POST /telemetry`, without samples that have no field. Corrects the times of a wrong
 * clock. Refuses a body of which no field was understood: a sender must not take a 200 for a report that is lost.
 */
export function translationOf({
  set,
  dropped,
  rejected = [],
  receivedAtMs,
  sentAtMs,
  isLive = true,
}: Report): Translation {
  const samples = set.samples().filter(hasValue)
  if (samples.length === 0) return refuse(nothingUnderstood(dropped, rejected), 'nothing_understood')
  nameLostService(samples, maxSamples)
  const corrected =
    sentAtMs === undefined
      ? correctTimes(samples, receivedAtMs, isLive)
      : correctionsBySentAt(samples, sentAtMs, receivedAtMs)
  const envelope = Buffer.from(JSON.stringify(sentAtMs === undefined ? { samples } : { sentAt: sentAtMs, samples }))
  if (envelope.length <= maxEnvelopeBytes) return { ok: true, envelope, rejected, dropped: dropped.list(), corrected }
  const detail = `The report must not exceed ${maxEnvelopeBytes} bytes after its translation.`
  return { ok: false, status: 413, code: 'body_too_large', detail }
}

/** Counts the times that move with the router's clock, if that shows what no right clock can. */
function correctionsBySentAt(
  samples: readonly AdapterSample[],
  sentAtMs: number,
  receivedAtMs: number,
): CorrectedTimes[] {
  const reason = clockFaultOf(sentAtMs, receivedAtMs)
  const count = samples.filter(({ ts }) => ts !== undefined).length
  return reason === undefined || count === 0 ? [] : [{ reason, count }]
}

/** What a sample is about, not what was measured. */
const subjectMembers: ReadonlySet<string> = new Set(['kind', 'ts', 'modem', 'simPlmn', 'interface', 'source'])

/** Returns whether a sample says anything. A quality that cannot be read does not. */
const hasValue = (sample: AdapterSample): boolean =>
  Object.entries(sample).some(
    ([name, value]) => !subjectMembers.has(name) && !(value === unknownWord && isQuality(`${sample.kind}.${name}`)),
  )

/** Names and reasons that an error lists. */
const maxNamed = 10

function nothingUnderstood(dropped: DroppedFields, rejected: readonly AdapterRejection[]): string {
  const names = [...new Set(dropped.list().map(({ field, reason }) => `${field} (${reason})`))]
  const listed = [...names, ...new Set(rejected.map(({ detail }) => detail.replace(/\.$/, '')))]
  if (listed.length === 0) return 'The report has no field that a sample can hold.'
  const more = listed.length > maxNamed ? `, and ${listed.length - maxNamed} more` : ''
  return `No field of the report was understood: ${listed.slice(0, maxNamed).join(', ')}${more}.`
}
