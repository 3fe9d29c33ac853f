import { parseDecimal } from '#core/decimal-number'
import { isRecord, listOf, parseJson } from '../json.ts'
import { cumulative, MalformedRequest, noRecordedValue, type OnPoint, type Shape, withResource } from './points.ts'

/**
 * Reads the data points of an `ExportMetricsServiceRequest` in the JSON encoding of protobuf. Unknown members are ignored.
 * Throws MalformedRequest. https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
export function readJson(body: Buffer, onPoint: OnPoint): void {
  const parsed = parseJson(body)
  if (!parsed.ok) throw new MalformedRequest(parsed.detail)
  if (!isRecord(parsed.value)) throw new MalformedRequest('The body is not an ExportMetricsServiceRequest in JSON.')
  for (const { resource, scopeMetrics } of recordsIn(parsed.value.resourceMetrics)) {
    const shared = isRecord(resource) ? recordsIn(resource.attributes).flatMap(readAttribute) : []
    const onOwnPoint = withResource(shared, onPoint)
    for (const scope of recordsIn(scopeMetrics)) {
      for (const metric of recordsIn(scope.metrics)) readMetric(metric, onOwnPoint)
    }
  }
}

const recordsIn = (value: unknown) => listOf(value).filter(isRecord)

function readMetric(metric: Record<string, unknown>, onPoint: OnPoint): void {
  const name = typeof metric.name === 'string' ? metric.name : ''
  const { shape, data } = dataOf(metric)
  for (const point of recordsIn(data.dataPoints)) {
    const { timeUnixNano, asDouble, asInt, flags, attributes } = point
    onPoint({
      name,
      shape,
      timeUnixNano: nanosOf(timeUnixNano),
      value: numberOf(asDouble) ?? numberOf(asInt),
      isAbsent: (Number(flags ?? 0) & noRecordedValue) !== 0,
      attributes: recordsIn(attributes).flatMap(readAttribute),
    })
  }
}

function dataOf({ gauge, sum, histogram, exponentialHistogram, summary }: Record<string, unknown>): {
  shape: Shape
  data: Record<string, unknown>
} {
  if (isRecord(gauge)) return { shape: 'gauge', data: gauge }
  if (isRecord(sum)) return { shape: sum.aggregationTemporality === cumulative ? 'cumulative sum' : 'other', data: sum }
  return { shape: 'other', data: [histogram, exponentialHistogram, summary].find(isRecord) ?? {} }
}

const digits = /^\d{1,20}$/

/** Nanoseconds as text or as a number. Numbers of this size are 256 apart, so they are rounded to microseconds. */
function nanosOf(value: unknown): bigint {
  if (typeof value === 'string' && digits.test(value)) return BigInt(value)
  const nanos = numberOf(value) ?? 0
  return nanos > 0 && Number.isInteger(nanos) ? BigInt(Math.round(nanos / 1_000)) * 1_000n : 0n
}

const notFinite: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity'])

/** Numbers of every type can be text. https://protobuf.dev/programming-guides/json/ */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  return notFinite.has(value) ? Number(value) : (parseDecimal(value) ?? undefined)
}

function readAttribute({ key, value }: Record<string, unknown>): [string, string | number][] {
  if (typeof key !== 'string' || !isRecord(value)) return []
  const { stringValue, intValue, doubleValue } = value
  const read = typeof stringValue === 'string' ? stringValue : (numberOf(intValue) ?? numberOf(doubleValue))
  return read === undefined ? [] : [[key, read]]
}
