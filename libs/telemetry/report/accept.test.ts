import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBatch } from './accept.ts'
import type { BatchFormat } from './envelope.ts'

const receivedAtMs = Date.UTC(2026, 0, 15, 12)
const context = { receivedAtMs, oldestTsMs: receivedAtMs - 90 * 86_400_000 }

const decode = (body: unknown, format: BatchFormat = 'json') =>
  decodeBatch(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), format, context)

function decoded(body: unknown, format: BatchFormat = 'json') {
  const batch = decode(body, format)
  if (!batch.ok) throw new Error(batch.detail)
  return batch
}

const codes = (body: unknown, format: BatchFormat = 'json') =>
  decoded(body, format).rejected.map(({ index, code }) => [index, code])

/** One sample given as JSON text, so that it may hold what `JSON.stringify` cannot write. */
const codeOfText = (sample: string) => codes(`{"samples":[${sample}]}`)[0]?.[1] ?? 'accepted'

const nested = (levels: number): string =>
  levels === 1 ? '{"kind":"system"}' : `{"kind":"system","deep":${list(levels - 1)}}`
const list = (levels: number): string => (levels === 1 ? '[]' : `[${list(levels - 1)}]`)

it.each(['json', 'ndjson'] as const)('a byte order mark before a report as %s is ignored', (format) => {
  const report =
    format === 'json' ? '{"batchId":"b","samples":[{"kind":"system"}]}' : '{"batchId":"b"}\n{"kind":"system"}'
  expect(decoded(`\ufeff${report}`, format)).toEqual(decoded(report, format))
})

describe('a body that cannot be decoded', () => {
  it.each([
    ['no JSON', '{'],
    ['empty', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['no samples', '{}'],
    ['samples that are no list', '{"samples":{}}'],
    ['an empty list', '{"samples":[]}'],
  ])('is refused with 400: %s', (_, body) => {
    expect(decode(body)).toMatchObject({ ok: false, status: 400 })
  })

  it.each(['', '\n \r\n', '{"sentAt":1768478400000}\n'])(
    'is refused with 400: NDJSON without a sample line',
    (body) => {
      expect(decode(body, 'ndjson')).toMatchObject({ ok: false, status: 400 })
    },
  )

  it('is rejected with 413 for more than 1000 samples', () => {
    const samples = (count: number) => Array.from({ length: count }, () => ({ kind: 'system' }))
    const lines = (count: number) => '{"kind":"system"}\n'.repeat(count)
    expect(decoded({ samples: samples(1000) }).samples).toHaveLength(1000)
    expect(decode({ samples: samples(1001) })).toMatchObject({ ok: false, status: 413 })
    expect(decoded(`{"batchId":"b"}\n${lines(1000)}`, 'ndjson').samples).toHaveLength(1000)
    expect(decode(lines(1001), 'ndjson')).toMatchObject({ ok: false, status: 413 })
  })
})

describe('invalid_sample', () => {
  it.each([
    ['null', 'null'],
    ['a number', '1'],
    ['a list', '[]'],
    ['nested deeper than 8', nested(9)],
    ['__proto__', '{"kind":"system","__proto__":{"a":1}}'],
    ['__proto__ inside', '{"kind":"cellular","cells":[{"__proto__":1}]}'],
    ['infinite', '{"kind":"system","cpuPct":1e999}'],
    ['beyond 2^53', '{"kind":"system","cpuPct":9007199254740994}'],
    ['beyond −2^53, inside', '{"kind":"cellular","cells":[{"pci":-9007199254740994}]}'],
    ['infinite ts', '{"kind":"system","ts":1e999}'],
    ['a string over 256 characters', `{"kind":"system","fault":"${'x'.repeat(257)}"}`],
    ['a string over 256 characters in cells', `{"kind":"cellular","cells":[{"band":"${'x'.repeat(257)}"}]}`],
    ['a name over 256 characters', `{"kind":"system","${'x'.repeat(257)}":1}`],
    ['257 emoji', `{"kind":"system","fault":"${'📡'.repeat(257)}"}`],
    ['before unknown_kind', '{"kind":"weather","cpuPct":1e999}'],
  ])('%s', (_, sample) => expect(codeOfText(sample)).toBe('invalid_sample'))

  it.each([
    ['nested 8 deep', nested(8)],
    ['exactly 2^53', '{"kind":"connection","rxBytes":9007199254740992}'],
    ['256 characters', `{"kind":"system","fault":"${'x'.repeat(256)}"}`],
    ['256 emoji', `{"kind":"system","fault":"${'📡'.repeat(256)}"}`],
  ])('is not: %s', (_, sample) => expect(codeOfText(sample)).toBe('accepted'))

  it('reports invalid NDJSON lines by the index of their sample', () => {
    const body = '{"sentAt":"2026-01-15T12:00:00Z"}\n\n{"kind":"system"}\r\n{oops\n[1]\n{"kind":"system"}'
    expect(codes(body, 'ndjson')).toEqual([
      [1, 'invalid_sample'],
      [2, 'invalid_sample'],
    ])
    expect(decoded(body, 'ndjson').samples.map(({ index }) => index)).toEqual([0, 3])
  })
})

describe('unknown_kind', () => {
  it.each(['{}', '{"kind":null}', '{"kind":1}', '{"kind":"weather"}', '{"kind":"toString"}', '{"kind":["system"]}'])(
    '%s',
    (sample) => expect(codeOfText(sample)).toBe('unknown_kind'),
  )
})

describe('ts', () => {
  it.each([
    '"yesterday"',
    '""',
    '"1768478400000"',
    'true',
    '{}',
    '"2026-01-15"',
    '"2026-02-29T00:00:00Z"',
    '"2026-01-15T12:00:00"',
  ])('%s is ts_invalid', (ts) => expect(codeOfText(`{"kind":"system","ts":${ts}}`)).toBe('ts_invalid'))

  it.each([
    Date.UTC(2020, 0, 1) - 1,
    context.oldestTsMs - 1,
    receivedAtMs + 300_001,
    Math.floor(receivedAtMs / 1000),
    -1,
    '2019-12-31T23:59:59.999Z',
  ])('%s is ts_out_of_range', (ts) =>
    expect(codes({ samples: [{ kind: 'system', ts }] })).toEqual([[0, 'ts_out_of_range']]),
  )

  it.each([
    [context.oldestTsMs, context.oldestTsMs],
    [receivedAtMs + 300_000, receivedAtMs + 300_000],
    ['2026-01-15T11:00:00.1239Z', receivedAtMs - 3_600_000 + 123],
    ['2026-01-15t13:00:00+01:00', receivedAtMs],
    [receivedAtMs - 0.5, receivedAtMs - 1],
  ])('%s is taken as it is', (ts, tsMs) => {
    expect(decoded({ samples: [{ kind: 'system', ts }] }).samples).toMatchObject([{ tsMs, tsCorrected: false }])
  })

  it('is the time of arrival minus ageMs by default', () => {
    const samples = [{}, { ageMs: 1500 }, { ageMs: '1500' }, { ageMs: -1 }, { ageMs: 86_400_001 }, { ts: null }]
    const ages = decoded({ samples: samples.map((sample) => ({ kind: 'location', ...sample })) }).samples.map(
      ({ tsMs }) => receivedAtMs - tsMs,
    )
    expect(ages).toEqual([0, 1500, 1500, 0, 0, 0])
  })

  it('is not the time of arrival if the age of a measurement is unknown', () => {
    const unknown = [-1, 86_400_001, 'N/A', '', 'old', true, {}]
    const samples = unknown.flatMap((ageMs) =>
      ['cellular', 'connection', 'system'].map((kind) => ({ kind, ageMs, rat: 'lte' })),
    )
    expect(new Set(codes({ samples }).map(([, code]) => code))).toEqual(new Set(['ts_invalid']))
    expect(codes({ samples })).toHaveLength(samples.length)
    expect(codes({ samples: samples.map((sample) => ({ ...sample, ts: receivedAtMs })) })).toEqual([])
  })
})

describe('clock', () => {
  const hour = 3_600_000
  const report = (sentAt: number, ...ts: (number | undefined)[]) =>
    decoded({ sentAt, samples: ts.map((each) => ({ kind: 'system', ts: each })) })

  it('shifts a batch from a clock that is wrong by more than 60 s, and marks it', () => {
    const sentAt = receivedAtMs - hour
    expect(report(sentAt, sentAt - 60_000, sentAt - 90_000, undefined).samples).toMatchObject([
      { tsMs: receivedAtMs - 60_000, tsCorrected: true, shiftMs: hour },
      { tsMs: receivedAtMs - 90_000, tsCorrected: true, shiftMs: hour },
      { tsMs: receivedAtMs, tsCorrected: false, shiftMs: 0 },
    ])
  })

  it('corrects samples far in the future or before 2020', () => {
    expect(report(receivedAtMs + 48 * hour, receivedAtMs + 48 * hour).samples).toMatchObject([{ tsMs: receivedAtMs }])
    expect(report(0, 0).samples).toMatchObject([{ tsMs: receivedAtMs, tsCorrected: true }])
  })

  it('does not shift a backlog or a clock that is wrong by less than 60 s', () => {
    const sentAt = receivedAtMs - hour
    expect(report(sentAt, sentAt - 60_001).samples).toMatchObject([{ tsMs: sentAt - 60_001, tsCorrected: false }])
    expect(report(receivedAtMs - 60_000, receivedAtMs - 60_000).samples).toMatchObject([{ tsCorrected: false }])
  })
})

it('drops and counts unknown members of the report and of samples', () => {
  const body = { sentAt: 'soon', batchId: 'b-1', vendor: 'x', samples: [{ kind: 'system', cpuPct: 1, fan: 2, lat: 3 }] }
  expect(decoded(body)).toMatchObject({ unknownFields: 4, batchId: 'b-1', sentAtMs: null })
})

it('returns the same result for JSON and NDJSON', () => {
  const sample = fc.oneof(
    fc.record({ kind: fc.constantFrom('system', 'location', 'weather'), ts: fc.anything(), lat: fc.double() }),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(fc.array(sample, { minLength: 1, maxLength: 20 }), (values) => {
      const samples = JSON.parse(JSON.stringify(values)) as unknown[]
      const lines = ['{"batchId":"b"}', ...samples.map((each) => JSON.stringify(each))].join('\n')
      expect(decode(lines, 'ndjson')).toEqual(decode({ batchId: 'b', samples }))
    }),
  )
})

it('accepts or rejects every sample exactly once, for any input', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), (samples) => {
      const batch = decoded({ samples })
      const indexes = [...batch.samples, ...batch.rejected].map(({ index }) => index).sort((a, b) => a - b)
      expect(indexes).toEqual(samples.map((_, index) => index))
    }),
  )
})

describe('sources', () => {
  const cellular = (modem: unknown) => ({ kind: 'cellular', modem, rsrpDbm: -90 })
  const connection = (interfaceName: string) => ({ kind: 'connection', interface: interfaceName })
  const named = (count: number) => Array.from({ length: count }, (_, index) => `wwan${index}`)

  it('are at most 16 modems in a report, of both kinds together', () => {
    const samples = [
      ...named(16).map(cellular),
      { kind: 'connection', modem: 'wwan16' },
      cellular(' wwan3 '),
      cellular(null),
    ]
    expect(codes({ samples })).toEqual([[16, 'invalid_sample']])
    expect(decoded({ samples }).rejected[0]?.detail).toContain('more than 16 modems')
  })
  it('are at most 32 interfaces in a report', () => {
    const samples = [...named(33).map(connection), connection('wwan0'), cellular('wwan40')]
    expect(codes({ samples })).toEqual([[32, 'invalid_sample']])
  })
  it('have names of at most 64 characters', () => {
    const samples = [cellular('📶'.repeat(64)), cellular('x'.repeat(65)), cellular(7)]
    expect(codes({ samples })).toEqual([[1, 'invalid_sample']])
  })
})
