import { type BatchFormat, brokenLine, isObject, type RefusedBatch, readEnvelope } from './envelope.ts'
import { envelopeFields, fieldTable, isKind, type Kind, maxAgeMs } from './fields.ts'
import { inspectSample, newValueBudget } from './inspect.ts'
import { parseNumber, parseTime } from './times.ts'

export type RejectionCode = 'invalid_sample' | 'unknown_kind' | 'ts_invalid' | 'ts_out_of_range'

/** A sample that must never be sent again. `index` counts samples (sample lines in NDJSON) from 0. */
export type Rejection = { index: number; code: RejectionCode; detail: string }

/** A sample the service has taken on. `sample` is the parsed object as it was sent, unknown members included. */
export type AcceptedSample = {
  index: number
  kind: Kind
  tsMs: number
  tsCorrected: boolean
  /** What was added to the router's own time to get `tsMs`; 0 unless `tsCorrected`. */
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
 * `sampleCount`: how many samples of this body an earlier decoding accepted. When that was all of them, they are not
 * inspected again and `unknownFields` counts only the members beside the samples.
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

/** The age of a sample that has no time of its own; null when it is missing or nonsense. */
export function parseAgeMs(value: unknown): number | null {
  const ageMs = parseNumber(value)
  return ageMs !== null && ageMs >= 0 && ageMs <= maxAgeMs ? ageMs : null
}

/** A router whose clock runs wrong, not one that empties its buffer: by how much its times are to be shifted. */
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
 * Decodes one telemetry report: which samples are taken, with what kind and time, and which are refused, and why.
 * A pure function of its arguments, so that the writer, reading the body back from the log, finds exactly what the
 * router was answered.
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
    const hasTs = ts !== undefined && ts !== null
    const tsMs = hasTs ? parseTime(ts) : Math.trunc(receivedAtMs - (parseAgeMs(sample.ageMs) ?? 0))
    if (tsMs === null) {
      rejected.push({ index, code: 'ts_invalid', detail: '`ts` is neither RFC 3339 nor epoch milliseconds.' })
      continue
    }
    if (hasTs && tsMs > newestTsMs) newestTsMs = tsMs
    unknownFields += inspected
    candidates.push({ index, kind, tsMs, tsCorrected: false, shiftMs: 0, sample })
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

/** Samples without a time of their own were timed by our clock already. */
function shiftOwnTimes(samples: AcceptedSample[], shiftMs: number): void {
  for (const accepted of samples) {
    if (accepted.sample.ts === undefined || accepted.sample.ts === null) continue
    accepted.tsMs += shiftMs
    accepted.tsCorrected = true
    accepted.shiftMs = shiftMs
  }
}
