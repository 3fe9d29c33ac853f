import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeBatch } from '#telemetry/report/accept'
import { adapterHeadOf } from './adapter.ts'
import { adapters } from './adapters.ts'

const receivedAtMs = Date.UTC(2026, 10, 23)

const heads = ['application/json', 'application/x-protobuf'].map((type) =>
  adapterHeadOf({ url: '/any?precision=s&time=22-11-2026_00:00:00', headers: { 'content-type': type } }),
)

const names = [
  'type',
  'interfaces',
  'mobile',
  'signal',
  'lte',
  'data',
  'gps',
  'latitude',
  'timestamp',
  'cell_info',
  'rsrp',
]
const otlpNames = [
  'resourceMetrics',
  'scopeMetrics',
  'metrics',
  'name',
  'gauge',
  'dataPoints',
  'asDouble',
  'attributes',
]
const key = fc.oneof(fc.constantFrom(...names, ...otlpNames, '__proto__', 'constructor'), fc.string())
const word = fc.constantFrom('DeviceMonitoring', 'cellular.rsrpDbm', 'system cpuPct=1 5', 'N/A', '', '1e999', '-0')
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 7 },
    fc.oneof(word, fc.string(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('tree')), { maxLength: 5 }).map((members) => Object.fromEntries(members)),
  ),
}))
const body = fc.oneof(
  tree.map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.array(fc.oneof(word, fc.string())).map((lines) => Buffer.from(lines.join('\n'))),
)

describe.each(adapters)('$source', (adapter) => {
  test('refuses any body or translates it into a report that can be decoded', () => {
    fc.assert(
      fc.property(body, fc.constantFrom(...heads), (bytes, head) => {
        const translated = adapter.translate(bytes, head, receivedAtMs)
        if (!translated.ok || !translated.envelope) return
        const decoded = decodeBatch(translated.envelope, 'json', { receivedAtMs, oldestTsMs: 0 })
        expect(decoded).toMatchObject({ ok: true, unknownFields: 0 })
        const codes = decoded.ok ? decoded.rejected.map(({ code }) => code) : []
        expect(codes.filter((code) => code !== 'ts_out_of_range')).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('answers every error in its own form with the same status', () => {
    for (const head of heads) {
      for (const status of [400, 401, 402, 403, 404, 413, 415, 429, 500, 503]) {
        const reply = adapter.answerProblem({ status, code: 'c', detail: 'Why.', requestId: 'r' }, head)
        expect(reply.status).toBe(status)
        expect(Buffer.from(reply.body ?? '').toString()).toContain('Why.')
        expect(reply.headers['Content-Type']).toBeTruthy()
      }
    }
  })
})
