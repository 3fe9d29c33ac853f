import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AdapterHead } from '../adapter.ts'
import { otlp } from './adapter.ts'

const head = (mediaType: string): AdapterHead => ({ path: otlp.path, query: '', authorization: undefined, mediaType })
const json = head('application/json')
const protobuf = head('application/x-protobuf')

function translate(body: string | Buffer, as: AdapterHead) {
  const translated = otlp.translate(Buffer.from(body), as, ts + 1)
  if (!translated.ok) return { refused: translated }
  const { envelope, rejected, dropped } = translated
  return { samples: envelope ? JSON.parse(envelope.toString()).samples : [], rejected, dropped }
}

const request = (metrics: unknown[]) => JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] })
const gauge = (name: string, point: object) => ({ name, gauge: { dataPoints: [point] } })

const nanos = '1790000000123456789'
const ts = 1_790_000_000_123

test('gauges of one kind and time are one sample', () => {
  const { samples, rejected } = translate(
    request([
      gauge('cellular.rsrpDbm', {
        timeUnixNano: nanos,
        asDouble: -95.5,
        attributes: [{ key: 'rat', value: { stringValue: 'lte' } }],
      }),
      gauge('routerfleet.cellular.pci', { timeUnixNano: nanos, asInt: '12' }),
      gauge('sinrDb', { timeUnixNano: nanos, asInt: 8 }),
      gauge('routerfleet.system.cpuPct', { asDouble: 5 }),
      {
        name: 'connection.rxBytes',
        sum: { aggregationTemporality: 2, dataPoints: [{ timeUnixNano: nanos, asInt: '99' }] },
      },
    ]),
    json,
  )
  expect(samples).toEqual([
    { kind: 'cellular', ts, rat: 'lte', rsrpDbm: -95.5, pci: 12, sinrDb: 8 },
    { kind: 'system', cpuPct: 5 },
    { kind: 'connection', ts, rxBytes: 99 },
  ])
  expect(rejected).toEqual([])
})

test('a number may be text, and text a number, also one of 64 bits', () => {
  const body = request([
    gauge('cellular.rsrpDbm', { timeUnixNano: nanos, asDouble: '-95.5' }),
    gauge('cellular.pci', { timeUnixNano: nanos, asInt: '1.2e1' }),
    gauge('cellular.sinrDb', { timeUnixNano: 'nanos', asDouble: 8 }),
    gauge('cellular.sinrDb', { timeUnixNano: 'next', asDouble: '1E1' }),
    gauge('location.lat', {
      asDouble: '52.5',
      attributes: [
        { key: 'lon', value: { doubleValue: '4.25' } },
        { key: 'accuracyM', value: { doubleValue: 'NaN' } },
      ],
    }),
  ])
    .replace('"nanos"', nanos)
    .replace('"next"', '1.790000001e18')
  expect(translate(body, json)).toEqual({
    samples: [
      { kind: 'cellular', ts, rsrpDbm: -95.5, pci: 12, sinrDb: 8 },
      { kind: 'cellular', ts: 1_790_000_001_000, sinrDb: 10 },
      // A value that cannot be read is not a good one.
      { kind: 'location', lat: 52.5, lon: 4.25, accuracyM: 'unknown' },
    ],
    rejected: [],
    dropped: [{ field: 'location.accuracyM', reason: 'unusable', count: 1 }],
  })
})

test.each(['1790000000123000000', '1790000000999000000', '1790000000001000000'])(
  'the time %s has its millisecond, also as a number',
  (time) => {
    const body = request([gauge('cellular.rsrpDbm', { timeUnixNano: 'nanos', asInt: -95 })]).replace('"nanos"', time)
    expect(translate(body, json).samples).toMatchObject([{ ts: Number(time.slice(0, -6)) }])
  },
)

test.each(['NaN', 'Infinity', '-Infinity', '', 'high', '0x10'])('%j is no value', (text) => {
  expect(translate(request([gauge('cellular.rsrpDbm', { asDouble: text })]), json).refused).toMatchObject({
    code: 'nothing_understood',
  })
})

test('points have the modem of their resource, unless they name one', () => {
  const points = [{ asDouble: -95 }, { asDouble: -99, attributes: [{ key: 'modem', value: { stringValue: 'b' } }] }]
  const metrics = [{ name: 'cellular.rsrpDbm', gauge: { dataPoints: points } }, gauge('system.cpuPct', { asDouble: 5 })]
  const attributes = ['modem', 'service.name'].map((key) => ({ key, value: { stringValue: 'a' } }))
  const { samples, dropped } = translate(
    JSON.stringify({ resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }] }),
    json,
  )
  expect(samples).toEqual([
    { kind: 'cellular', modem: 'a', rsrpDbm: -95 },
    { kind: 'cellular', modem: 'b', rsrpDbm: -99 },
    { kind: 'system', cpuPct: 5 },
  ])
  expect(dropped).toEqual([])
})

test('rejects and counts data points that no field can hold', () => {
  const { samples, rejected, dropped } = translate(
    request([
      gauge('process.cpu.time', { asDouble: 1 }),
      gauge('lat', { asDouble: 1 }),
      gauge('cellular.__proto__', { asDouble: 1 }),
      gauge('cellular.rsrpDbm', {}),
      gauge('cellular.rsrpDbm', { asDouble: 'NaN' }),
      { name: 'connection.rxBytes', sum: { aggregationTemporality: 1, dataPoints: [{ asInt: '99' }] } },
      { name: 'connection.latencyMs', histogram: { dataPoints: [{ count: '1' }] } },
      gauge('cellular.rsrqDb', { asDouble: 1, flags: 1 }),
      gauge('system.cpuPct', { asDouble: 1, attributes: [{ key: 'host.name', value: { stringValue: 'gw' } }] }),
    ]),
    json,
  )
  expect(samples).toEqual([{ kind: 'system', cpuPct: 1 }])
  expect(rejected?.map(({ code, count }) => [code, count])).toEqual([
    ['unknown_kind', 3],
    ['invalid_sample', 4],
  ])
  expect(dropped).toContainEqual({ field: 'process.cpu.time', reason: 'unmapped', count: 1 })
  expect(dropped).toContainEqual({ field: 'system.host.name', reason: 'unmapped', count: 1 })
})

/** Writes a message with one embedded message. */
const within = (fieldNumber: number, bytes: Uint8Array) =>
  new BinaryWriter().tag(fieldNumber, WireType.LengthDelimited).bytes(bytes).finish()

test('reads fields of protobuf in any order, and skips unknown ones', () => {
  const point = new BinaryWriter()
    .tag(99, WireType.Varint)
    .uint32(7)
    .tag(4, WireType.Bit64)
    .double(-95.5)
    .tag(3, WireType.Bit64)
    .fixed64(nanos)
    .finish()
  const metric = new BinaryWriter()
    .tag(5, WireType.LengthDelimited)
    .bytes(within(1, point))
    .tag(1, WireType.LengthDelimited)
    .string('cellular.rsrpDbm')
    .finish()
  const body = Buffer.from(within(1, within(2, within(2, metric))))
  expect(translate(body, protobuf).samples).toEqual([{ kind: 'cellular', ts, rsrpDbm: -95.5 }])
  const attribute = Buffer.concat([within(1, Buffer.from('modem')), within(2, within(1, Buffer.from('wwan1')))])
  const resource = within(1, within(1, attribute))
  const named = Buffer.from(within(1, Buffer.concat([within(2, within(2, metric)), resource])))
  expect(translate(named, protobuf).samples).toEqual([{ kind: 'cellular', modem: 'wwan1', ts, rsrpDbm: -95.5 }])
  for (let length = 1; length < body.length; length += 1) {
    expect(translate(body.subarray(0, length), protobuf).refused, `${length} bytes`).toMatchObject({ status: 400 })
  }
})

describe('refuses', () => {
  test.each(['', '[]', 'null', '{', '['.repeat(100_000)])('%j as JSON', (body) => {
    expect(translate(body, json).refused).toMatchObject({ status: 400 })
  })
  test.each([
    ['nested groups', Buffer.alloc(1024 * 1024, 0x0b)],
    ['text', Buffer.from('not protobuf')],
    ['a length beyond the end', Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07])],
  ])('%s as protobuf', (_what, body) => {
    expect(translate(body, protobuf).refused).toMatchObject({ status: 400 })
  })
  test('more than 50,000 data points', () => {
    const metric = within(5, Buffer.alloc(200_000, Buffer.from([0x0a, 0x00])))
    expect(translate(Buffer.from(within(1, within(2, within(2, metric)))), protobuf).refused).toMatchObject({
      status: 400,
    })
  })
  test('more than 1,000 samples', () => {
    const metrics = Array.from({ length: 1_001 }, (_, index) =>
      gauge('system.cpuPct', { asDouble: 1, timeUnixNano: `${1_790_000_000_000 + index}000000` }),
    )
    expect(translate(request(metrics), json).refused).toMatchObject({ status: 413 })
  })
})

test('any bytes are translated or refused', () => {
  const byte = fc.constantFrom(0x0a, 0x12, 0x2a, 0x3a, 0x00, 0x01, 0x02, 0x04, 0x08, 0x19, 0x21, 0x31, 0xff, 0x80)
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 60 }), (bytes) => {
      expect(['refused', 'samples']).toContain(Object.keys(translate(Buffer.from(bytes), protobuf))[0])
    }),
  )
})

test.each(['', '{}'])('accepts the empty request %j', (body) => {
  expect(translate(body, body === '' ? protobuf : json)).toEqual({ samples: [], rejected: [], dropped: [] })
})

/** Returns the fields of a message by number. */
function fieldsOf(bytes: Uint8Array): Record<number, unknown> {
  const reader = new BinaryReader(bytes)
  const fields: Record<number, unknown> = {}
  while (reader.pos < reader.len) {
    const [fieldNumber, wireType] = reader.tag()
    fields[fieldNumber] = wireType === WireType.Varint ? Number(reader.int64()) : Buffer.from(reader.bytes())
  }
  return fields
}

describe('answers', () => {
  const rejected = [{ index: 0, code: 'unknown_kind', detail: 'Unknown name.', count: 3 }]
  const problem = { status: 429, code: 'rate_limited', detail: 'Too many.', requestId: 'r' }

  test('in JSON', () => {
    expect(otlp.answer({ accepted: 1, rejected: [], dropped: 0 }, json).body).toBe('{}')
    expect(JSON.parse(String(otlp.answer({ accepted: 1, rejected, dropped: 3 }, json).body))).toEqual({
      partialSuccess: { rejectedDataPoints: '3', errorMessage: 'Unknown name.' },
    })
    expect(JSON.parse(String(otlp.answerProblem(problem, json).body))).toEqual({ code: 8, message: 'Too many.' })
  })

  test('in protobuf', () => {
    const bodyOf = (reply: { body: string | Uint8Array | undefined }) => Buffer.from(reply.body ?? '')
    expect(bodyOf(otlp.answer({ accepted: 1, rejected: [], dropped: 0 }, protobuf))).toHaveLength(0)
    const partial = fieldsOf(bodyOf(otlp.answer({ accepted: 1, rejected, dropped: 3 }, protobuf)))[1]
    expect(fieldsOf(partial as Buffer)).toEqual({ 1: 3, 2: Buffer.from('Unknown name.') })
    expect(fieldsOf(bodyOf(otlp.answerProblem(problem, protobuf)))).toEqual({ 1: 8, 2: Buffer.from('Too many.') })
  })
})
