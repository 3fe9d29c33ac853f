import { isKind } from '#telemetry/report/fields'
import { sampleSource } from '#telemetry/report/sources'
import {
  type Adapter,
  type AdapterHead,
  type AdapterRejection,
  type AdapterReply,
  type Outcome,
  refuse,
  type Translation,
} from '../adapter.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { setOwnField } from '../own-fields.ts'
import { createSampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { parseLineProtocol } from './line-protocol.ts'

/** InfluxDB's words for HTTP statuses. https://docs.influxdata.com/influxdb/v2/api/#operation/PostWrite */
const errorCodes: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  402: 'forbidden',
  403: 'forbidden',
  404: 'not found',
  413: 'request too large',
  415: 'invalid',
  422: 'unprocessable entity',
  429: 'too many requests',
  500: 'internal error',
  503: 'unavailable',
}

/** Lines of a report that may be rejected one by one. With more, the report is refused. */
const maxRejected = 1_000
/** Rejected lines that a response explains. */
const maxExplained = 5

/** How many milliseconds a unit of each precision has. */
const unitMs: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, ms: 1, s: 1_000 }

/** Everything that writes InfluxDB v2: Telegraf, client libraries, curl. Measurements and fields have our own names. */
export const influx: Adapter = {
  source: 'influx',
  path: '/adapters/influx/api/v2/write',
  // InfluxDB does not check the media type, and clients send various ones.
  mediaTypes: undefined,
  authorizationOf: ({ authorization }) => authorization?.replace(/^Token +/i, 'Bearer '),
  translate,
  answer,
  answerProblem: ({ status, detail }) => errorReply(status, detail),
}

function translate(body: Buffer, { query }: AdapterHead, receivedAtMs: number): Translation {
  const precision = new URLSearchParams(query).get('precision') ?? 'ns'
  if (!Object.hasOwn(unitMs, precision)) return refuse('`precision` must be ns, us, ms or s.')
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const rejected: AdapterRejection[] = []
  for (const point of parseLineProtocol(body.toString('utf8'))) {
    const rejection = 'reason' in point ? brokenLine(point) : unknownMeasurement(point)
    if (rejection) rejected.push(rejection)
    if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
    if ('reason' in point || !isKind(point.measurement)) continue
    const source = sampleSource(point.measurement, Object.fromEntries([...point.tags, ...point.fields]))
    const sample = set.sampleAt(point.measurement, timeOf(point.timestamp, precision), source)
    if (!sample) return tooManySamples
    // Fields follow tags, so that a field replaces a tag of the same name.
    for (const [name, value] of [...point.tags, ...point.fields]) setOwnField(sample, name, value, dropped)
  }
  if (set.samples().length === 0 && rejected.length === 0) return refuse('The request has no points.')
  // The answer explains rejected lines in InfluxDB's words.
  if (set.samples().length === 0) return { ok: true, envelope: undefined, rejected, dropped: [], corrected: [] }
  return translationOf({ set, dropped, rejected, receivedAtMs })
}

const brokenLine = ({ line, text, reason }: { line: number; text: string; reason: string }): AdapterRejection => ({
  index: line - 1,
  code: 'invalid_sample',
  detail: `unable to parse '${text}' (line ${line}): ${reason}`,
})

function unknownMeasurement({
  line,
  measurement,
}: {
  line: number
  measurement: string
}): AdapterRejection | undefined {
  if (isKind(measurement)) return undefined
  const detail = `measurement '${measurement.slice(0, 60)}' (line ${line}) is not cellular, connection, location or system`
  return { index: line - 1, code: 'unknown_kind', detail }
}

/** Returns epoch milliseconds. Nanoseconds exceed the precision of a number, so they are divided before the conversion. */
function timeOf(timestamp: string | undefined, precision: string): number | undefined {
  if (timestamp === undefined) return undefined
  const unit = unitMs[precision] ?? 1
  return unit < 1 ? Number(BigInt(timestamp) / BigInt(Math.round(1 / unit))) : Number(timestamp) * unit
}

/**
 * 204, or the error of a partial write: 400 for lines that cannot be parsed, 422 for points that cannot be stored. Clients do
 * not repeat either, and the other points are stored.
 */
function answer({ accepted, rejected }: Outcome): AdapterReply {
  if (rejected.length === 0) return { status: 204, headers: {}, body: undefined }
  const isSyntax = rejected.some(({ code }) => code === 'invalid_sample')
  const details = rejected.slice(0, maxExplained).map(({ code, detail }) => explain(code, detail))
  const extent = accepted > 0 ? 'partial write: ' : ''
  return errorReply(isSyntax ? 400 : 422, `${extent}${details.join('\n')} dropped=${rejected.length}`)
}

const explain = (code: string, detail: string) =>
  code === 'ts_out_of_range' ? `points beyond retention policy: ${detail}` : detail

function errorReply(status: number, message: string): AdapterReply {
  const code = errorCodes[status] ?? 'internal error'
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'X-Platform-Error-Code': code }
  return { status, headers, body: JSON.stringify({ code, message }) }
}
