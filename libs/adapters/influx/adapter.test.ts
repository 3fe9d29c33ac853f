import { describe, expect, test } from 'vitest'
import type { AdapterHead, Outcome } from '../adapter.ts'
import { influx } from './adapter.ts'

const head = (query = '', authorization?: string): AdapterHead => ({
  path: influx.path,
  query,
  authorization,
  mediaType: 'text/plain',
})

const receivedAtMs = 1_700_000_000_500

function translate(text: string, query = 'precision=s') {
  const translated = influx.translate(Buffer.from(text), head(query), receivedAtMs)
  if (!translated.ok) return { refused: translated }
  const { envelope, rejected, dropped } = translated
  return { samples: envelope && JSON.parse(envelope.toString()).samples, rejected, dropped }
}

test('a point is a sample with our fields, from tags too', () => {
  const { samples, dropped } = translate(
    'cellular,host=gw,rat=lte,band=B3 rsrpDbm=-95,band="B20",colour=1,pci=t 1700000000',
  )
  expect(samples).toEqual([{ kind: 'cellular', ts: 1_700_000_000_000, rat: 'lte', band: 'B20', rsrpDbm: -95 }])
  expect(dropped).toEqual([
    { field: 'cellular.host', reason: 'unmapped', count: 1 },
    { field: 'cellular.colour', reason: 'unmapped', count: 1 },
    { field: 'cellular.pci', reason: 'unusable', count: 1 },
  ])
})

test('points of one kind and time are one sample, because they are stored as one row', () => {
  const { samples } = translate(
    'system,cpu=a cpuPct=5 1700000000\nsystem load1=2 1700000000\nsystem load1=3 1700000001\nlocation lat=1,lon=2 1700000000',
  )
  expect(samples).toEqual([
    { kind: 'system', ts: 1_700_000_000_000, cpuPct: 5, load1: 2 },
    { kind: 'system', ts: 1_700_000_001_000, load1: 3 },
    { kind: 'location', ts: 1_700_000_000_000, lat: 1, lon: 2 },
  ])
})

test('points of several modems and interfaces at one time are one sample each', () => {
  const { samples } = translate(
    'cellular,modem=1 rsrpDbm=-95 1700000000\ncellular,modem=2 rsrpDbm=-80 1700000000\ncellular,modem=1 sinrDb=3 1700000000\nconnection,modem=1,interface=a rxBytes=1 1700000000\nconnection,modem=1,interface=b rxBytes=2 1700000000',
  )
  const ts = 1_700_000_000_000
  expect(samples).toEqual([
    { kind: 'cellular', ts, modem: '1', rsrpDbm: -95, sinrDb: 3 },
    { kind: 'cellular', ts, modem: '2', rsrpDbm: -80 },
    { kind: 'connection', ts, modem: '1', interface: 'a', rxBytes: 1 },
    { kind: 'connection', ts, modem: '1', interface: 'b', rxBytes: 2 },
  ])
})

test.each([
  ['precision=ns', '1700000000123456789', 1_700_000_000_123],
  ['', '1700000000123456789', 1_700_000_000_123],
  ['precision=us', '1700000000123456', 1_700_000_000_123],
  ['precision=ms', '1700000000123', 1_700_000_000_123],
  ['precision=s', '1700000000', 1_700_000_000_000],
  ['bucket=b&org=o&precision=ms', '-5', receivedAtMs],
])('%j: timestamp %s is %s ms', (query, timestamp, ms) => {
  expect(translate(`system cpuPct=1 ${timestamp}`, query).samples[0].ts).toBe(ms)
})

test('without a timestamp, the time is that of receipt', () => {
  expect(translate('system cpuPct=1').samples).toEqual([{ kind: 'system', cpuPct: 1 }])
})

test('lines that cannot be accepted do not affect the others', () => {
  const { samples, rejected } = translate('system cpuPct=1 5\ncpu usage=1 5\nsystem cpuPct 5')
  expect(samples).toHaveLength(1)
  expect(rejected).toEqual([
    { index: 1, code: 'unknown_kind', detail: expect.stringContaining("measurement 'cpu' (line 2)") },
    { index: 2, code: 'invalid_sample', detail: "unable to parse 'system cpuPct 5' (line 3): invalid field format" },
  ])
})

test('hostile names and values change nothing but the counts', () => {
  const { samples, dropped } = translate(
    `system __proto__="x",constructor=1,kind="x",ts=1,firmware="${'x'.repeat(257)}",load1=1e300,cpuPct=1`,
  )
  expect(samples).toEqual([{ kind: 'system', cpuPct: 1 }])
  expect(dropped?.map(({ field }) => field)).toEqual([
    'system.__proto__',
    'system.constructor',
    'system.kind',
    'system.ts',
    'system.firmware',
    'system.load1',
  ])
})

describe('refuses', () => {
  test.each(['', '\n\n', '# only a comment'])('%j, which has no points', (text) => {
    expect(translate(text).refused).toMatchObject({ status: 400, detail: 'The request has no points.' })
  })
  test('an unknown precision', () => {
    expect(translate('system cpuPct=1', 'precision=h').refused).toMatchObject({ status: 400 })
  })
  test('more than 1,000 samples', () => {
    const lines = Array.from({ length: 1_001 }, (_, index) => `system cpuPct=1 ${index}`)
    expect(translate(lines.join('\n')).refused).toMatchObject({ status: 413, code: 'too_many_samples' })
  })
  test('more than 1,000 broken lines', () => {
    expect(translate('x\n'.repeat(500_000)).refused).toMatchObject({ status: 400 })
  })
  test('a report that exceeds the limit after its translation', () => {
    const value = '\u0001'.repeat(250)
    const fields = ['firmware', 'rebootReason', 'fault'].map((name) => `${name}="${value}"`).join(',')
    const lines = Array.from({ length: 1_000 }, (_, index) => `system ${fields} ${index}`)
    expect(translate(lines.join('\n')).refused).toMatchObject({ status: 413, code: 'body_too_large' })
  })
})

describe('answers as InfluxDB does', () => {
  const answer = (outcome: Partial<Outcome>) => {
    const { status, body } = influx.answer({ accepted: 0, rejected: [], dropped: 0, ...outcome }, head())
    return { status, json: body && JSON.parse(String(body)) }
  }
  const broken = { index: 0, code: 'invalid_sample', detail: "unable to parse 'x' (line 1): missing fields" }

  test('204 for points that were all written', () => {
    expect(answer({ accepted: 5, dropped: 3 })).toEqual({ status: 204, json: undefined })
  })
  test('400 for lines that are not line protocol', () => {
    const message = "unable to parse 'x' (line 1): missing fields dropped=1"
    expect(answer({ rejected: [broken] })).toEqual({ status: 400, json: { code: 'invalid', message } })
    expect(answer({ accepted: 1, rejected: [broken] }).json.message).toBe(`partial write: ${message}`)
  })
  test('422 for points that cannot be stored', () => {
    const rejected = [{ index: 0, code: 'ts_out_of_range', detail: '`ts` is before 2020.' }]
    expect(answer({ accepted: 1, rejected })).toEqual({
      status: 422,
      json: {
        code: 'unprocessable entity',
        message: 'partial write: points beyond retention policy: `ts` is before 2020. dropped=1',
      },
    })
  })
  test('at most five lines are explained', () => {
    expect(answer({ rejected: Array(900).fill(broken) }).json.message.split('\n')).toHaveLength(5)
  })
})

test.each([
  ['Token fld_1', 'Bearer fld_1'],
  ['token  fld_1', 'Bearer fld_1'],
  ['Bearer fld_1', 'Bearer fld_1'],
  [undefined, undefined],
])('credentials %j are %j', (sent, read) => expect(influx.authorizationOf(head('', sent))).toBe(read))
