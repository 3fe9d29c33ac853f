import { sampleSource } from '#telemetry/report/sources'
import type { Adapter, AdapterHead, AdapterRejection, Translation } from '../adapter.ts'
import { refuse } from '../adapter.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { setOwnField } from '../own-fields.ts'
import { createSampleSet, type SampleSet, setUnknown, tooManySamples, translationOf } from '../sample-set.ts'
import { isQuality } from '../unknown-quality.ts'
import { fieldOfMetric } from './field-names.ts'
import { type DataPoint, MalformedRequest } from './points.ts'
import { readJson } from './read-json.ts'
import { readProtobuf } from './read-protobuf.ts'
import { protobufType, responseOf, statusOf } from './replies.ts'

/** Data points of a request. A thousand samples of every field have fewer. */
const maxPoints = 50_000
const nanosPerMs = 1_000_000n

/** OpenTelemetry collectors and SDKs over HTTP. https://opentelemetry.io/docs/specs/otlp/ */
export const otlp: Adapter = {
  source: 'otlp',
  path: '/adapters/otlp/v1/metrics',
  mediaTypes: [protobufType, 'application/json'],
  authorizationOf: ({ authorization }) => authorization,
  translate,
  answer: responseOf,
  answerProblem: statusOf,
}

class TooManySamples extends Error {}

function translate(body: Buffer, { mediaType }: AdapterHead, receivedAtMs: number): Translation {
  const [set, dropped, refusals] = [createSampleSet(), createDroppedFields(), createRefusals()]
  let points = 0
  const onPoint = (point: DataPoint) => {
    points += 1
    if (points > maxPoints) throw new MalformedRequest(`A request may have at most ${maxPoints} data points.`)
    addPoint(point, set, dropped, refusals)
  }
  try {
    if (mediaType === protobufType) readProtobuf(body, onPoint)
    else readJson(body, onPoint)
  } catch (error) {
    if (error instanceof MalformedRequest) return refuse(error.message)
    if (error instanceof TooManySamples) return tooManySamples
    throw error
  }
  // OTLP requires success for a request without data. A point may also say that its field has no value.
  const isEmpty = set.samples().length === 0 && refusals.list().length === 0
  if (isEmpty) return { ok: true, envelope: undefined, rejected: [], dropped: [], corrected: [] }
  return translationOf({ set, dropped, rejected: refusals.list(), receivedAtMs })
}

function addPoint(point: DataPoint, set: SampleSet, dropped: DroppedFields, refusals: Refusals): void {
  const { name, shape, timeUnixNano, value, isAbsent, attributes } = point
  const named = fieldOfMetric(name)
  if (named === undefined) {
    dropped.add(name, 'unmapped')
    refusals.add('unknown_kind', 'Metrics must be named after a telemetry field, such as cellular.rsrpDbm.')
    return
  }
  const { kind, field } = named
  if (isAbsent) return
  const isUsable = shape !== 'other' && Number.isFinite(value)
  if (!isUsable) {
    dropped.add(name, 'unusable')
    refusals.add('invalid_sample', 'Data points must be finite numbers of gauges or cumulative sums.')
    if (!isQuality(`${kind}.${field}`)) return
  }
  const source = sampleSource(kind, Object.fromEntries(attributes))
  const sample = set.sampleAt(kind, timeUnixNano === 0n ? undefined : Number(timeUnixNano / nanosPerMs), source)
  if (!sample) throw new TooManySamples()
  for (const [key, text] of attributes) setOwnField(sample, key, text, dropped)
  if (isUsable) setOwnField(sample, field, value, dropped)
  else setUnknown(sample, field)
}

type Refusals = { add(code: AdapterRejection['code'], detail: string): void; list(): AdapterRejection[] }

/** Counts rejected data points by reason. */
function createRefusals(): Refusals {
  const byDetail = new Map<string, AdapterRejection & { count: number }>()
  return {
    add(code, detail) {
      const known = byDetail.get(detail) ?? { index: 0, code, detail, count: 0 }
      known.count += 1
      byDetail.set(detail, known)
    },
    list: () => [...byDetail.values()],
  }
}
