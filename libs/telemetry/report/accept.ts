import { type BatchFormat, brokenLine, isObject, type RefusedBatch, readEnvelope } from './envelope.ts'
import { envelopeFields, fieldTable, isKind, type Kind, maxAgeMs } from './fields.ts'
import { inspectSample, newValueBudget } from './inspect.ts'
import { createSourceLimits } from './sources.ts'
import { parseNumber, parseTime } from './times.ts'

type RejectionCode = 'invalid_sample' | 'unknown_kind' | 'ts_invalid' | 'ts_out_of_range'

/** A sample that the device must not send again. `index` counts samples (sample lines in NDJSON) from 0. */
export type Rejection = { index: number; code: RejectionCode; detail: string }

/** An accepted sample. `sample` is the parsed object as sent, including unknown members. */
export type AcceptedSample = {
  index: number
  kind: Kind
  tsMs: number
  tsCorrected: boolean
  /** The correction of the router's clock in `tsMs`. 0 unless `tsCorrected`. */
  shiftMs: number
  sample: Record<string, unknown>
}

export type DecodedBatch = {
  ok: true
  samples: AcceptedSample[]
  rejected: Rejection[]
  sentAtMs: number | null
  batchId: string | null
  unknownFields: number
}

/**
 * `oldestTsMs`: start of the longest retention, counted from `receivedAtMs`. Both are kept with the body in the log.
 * `sampleCount`: the number of samples that an earlier decoding of this body accepted. If that was all of them, they are
 * not inspected again and `unknownFields` counts only the members beside the samples.
 */
export type DecodeContext = { receivedAtMs: number; oldestTsMs: number; sampleCount?: number }

const minuteMs = 60_000
const maxClockErrorMs = minuteMs
const maxAheadMs = 5 * minuteMs
const earliestTsMs = Date.UTC(2020, 0, 1)

const noFields: ReadonlySet<string> = new Set()
const knownFields = new Map<unknown, ReadonlySet<string>>(
  Object.entries(fieldTable).map(([kind, fields]) => [kind, new Set([...envelopeFields, ...Object.keys(fields)])]),
)

/** Returns the age of a sample without a time. Null if it is missing or invalid. */
export function parseAgeMs(value: unknown): number | null {
  const ageMs = parseNumber(value)
  return ageMs !== null && ageMs >= 0 && ageMs <= maxAgeMs ? ageMs : null
}

const invalidTs = '`ts` is neither RFC 3339 nor epoch milliseconds.'
const invalidAge = `\`ageMs\` of a sample without \`ts\` must be between 0 and ${maxAgeMs}.`

/**
 * Returns the time of a sample that has no `ts`; null if its age is unknown, because a measurement of another time must not
 * count as one of now. A location stays: with an unknown age, it is not usable. So do samples that were accepted before.
 */
function timeByAge(kind: Kind, sent: unknown, receivedAtMs: number, isAccepted: boolean): number | null {
  const ageMs = sent === undefined || sent === null ? 0 : parseAgeMs(sent)
  if (ageMs !== null) return Math.trunc(receivedAtMs - ageMs)
  return kind === 'location' || isAccepted ? receivedAtMs : null
}

/** Returns the shift for the times of a router whose clock is wrong. A router that sends buffered samples has none. */
function clockShiftMs(sentAtMs: number | null, newestTsMs: number, receivedAtMs: number): number {
  if (sentAtMs === null || newestTsMs < sentAtMs - minuteMs) return 0
  const offsetMs = receivedAtMs - sentAtMs
  return Math.abs(offsetMs) > maxClockErrorMs ? offsetMs : 0
}

function problemWithTs(tsMs: number, { receivedAtMs, oldestTsMs }: DecodeContext): string | null {
  if (tsMs > receivedAtMs + maxAheadMs) return '`ts` is more than 5 minutes ahead.'
  if (tsMs < earliestTsMs) return '`ts` is before 2020.'
  return tsMs < oldestTsMs ? '`ts` is older than the longest retention.' : null
}

/**
 * Decodes one telemetry report. Returns the accepted samples with their kind and time, and the rejected ones with the
 * reason. It is a pure function: the writer decodes the body from the log again and gets the same result.
 */
export function decodeBatch(bytes: Buffer, format: BatchFormat, context: DecodeContext): DecodedBatch | RefusedBatch {
  const envelope = readEnvelope(bytes, format)
  if (!envelope.ok) return envelope

  const { receivedAtMs } = context
  const { values, sentAtMs, batchId } = envelope
  const candidates: AcceptedSample[] = []
  const rejected: Rejection[] = []
  let unknownFields = envelope.unknownFields
  let newestTsMs = Number.NEGATIVE_INFINITY
  const isInspected = context.sampleCount === values.length
  const budget = newValueBudget()
  const problemWithSource = createSourceLimits()
  for (let index = 0; index < values.length; index++) {
    const sample = values[index]
    if (!isObject(sample)) {
      const detail = sample === brokenLine ? 'The line is not JSON.' : 'The sample is not an object.'
      rejected.push({ index, code: 'invalid_sample', detail })
      continue
    }
    const { kind, ts } = sample
    const inspected = isInspected ? 0 : inspectSample(sample, knownFields.get(kind) ?? noFields, budget)
    if (typeof inspected === 'string') {
      rejected.push({ index, code: 'invalid_sample', detail: inspected })
      continue
    }
    if (!isKind(kind)) {
      rejected.push({ index, code: 'unknown_kind', detail: '`kind` is not a kind of telemetry.' })
      continue
    }
    const sourceProblem = isInspected ? null : problemWithSource(kind, sample)
    if (sourceProblem !== null) {
      rejected.push({ index, code: 'invalid_sample', detail: sourceProblem })
      continue
    }
    const hasTs = ts !== undefined && ts !== null
    const tsMs = hasTs ? parseTime(ts) : timeByAge(kind, sample.ageMs, receivedAtMs, isInspected)
    if (tsMs === null) {
      rejected.push({ index, code: 'ts_invalid', detail: hasTs ? invalidTs : invalidAge })
      continue
    }
    if (hasTs && tsMs > newestTsMs) newestTsMs = tsMs
    unknownFields += inspected
    candidates.push({ index, kind, tsMs, tsCorrected: sample.tsCorrected === true, shiftMs: 0, sample })
  }

  const shiftMs = clockShiftMs(sentAtMs, newestTsMs, receivedAtMs)
  if (shiftMs !== 0) shiftOwnTimes(candidates, shiftMs)
  const samples = candidates.filter(({ index, tsMs }) => {
    const detail = problemWithTs(tsMs, context)
    if (detail !== null) rejected.push({ index, code: 'ts_out_of_range', detail })
    return detail === null
  })
  rejected.sort((a, b) => a.index - b.index)
  return { ok: true, samples, rejected, sentAtMs, batchId, unknownFields }
}

/** Shifts the times that the router sent. Samples without a time already have ours. */
function shiftOwnTimes(samples: AcceptedSample[], shiftMs: number): void {
  for (const accepted of samples) {
    if (accepted.sample.ts === undefined || accepted.sample.ts === null) continue
    accepted.tsMs += shiftMs
    accepted.tsCorrected = true
    accepted.shiftMs = shiftMs
  }
}
