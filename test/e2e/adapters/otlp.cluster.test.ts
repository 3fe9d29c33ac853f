import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { issueToken } from '#core/tokens'
import { type AdapterService, startAdapterService } from '#test/adapter-service'
import { otelCollectorMissing, startOtelCollector } from '#test/otel-collector'
import { until } from '#test/until'

let service: AdapterService
beforeAll(async () => {
  service = await startAdapterService()
}, 120_000)
afterAll(() => service.close())

type MapDevice = { deviceId: string; location: object | null }

const path = '/adapters/otlp/v1/metrics'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const json = { 'content-type': 'application/json' }
const protobuf = { 'content-type': 'application/x-protobuf' }

const request = (metrics: unknown[]) => JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] })
const gauge = (name: string, asDouble: number, ms = Date.now()) => ({
  name,
  gauge: { dataPoints: [{ asDouble, timeUnixNano: `${ms}000000` }] },
})

/** Records gauges with the OpenTelemetry SDK and exports them once. */
async function exportWith(exporter: PushMetricExporter): Promise<void> {
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const meter = provider.getMeter('router')
  meter.createGauge('routerfleet.cellular.rsrpDbm').record(-95.5, { rat: 'lte', plmn: '26203' })
  meter.createGauge('cellular.pci').record(12, { rat: 'lte', plmn: '26203' })
  meter.createObservableCounter('connection.rxBytes').addCallback((result) => result.observe(123_456))
  meter.createGauge('location.lat').record(51.9)
  meter.createGauge('location.lon').record(-8.47)
  meter.createGauge('system.cpuPct').record(12.5, { firmware: '7.1' })
  await provider.forceFlush()
  await provider.shutdown()
}

test.each([
  ['protobuf', ProtobufExporter, 'none'],
  ['protobuf with gzip', ProtobufExporter, 'gzip'],
  ['JSON with gzip', JsonExporter, 'gzip'],
])('gauges of the OpenTelemetry SDK as %s can be read field by field', async (_what, Exporter, compression) => {
  const router = await service.newRouter()
  const headers = bearer(router.token)
  await exportWith(new Exporter({ url: service.url + path, headers, compression: compression as never }))
  const latest = await service.latest(router, 'cellular', 'connection', 'location', 'system')
  expect(latest.cellular).toMatchObject({ rat: 'lte', plmn: '26203', rsrpDbm: -95.5, pci: 12 })
  expect(latest.connection).toMatchObject({ rxBytes: 123_456 })
  expect(latest.location).toMatchObject({ lat: 51.9, lon: -8.47 })
  expect(latest.system).toMatchObject({ cpuPct: 12.5, firmware: '7.1' })
})

test('an OpenTelemetry collector, with the exporter of the documentation, puts a router on the map', async ({
  skip,
}) => {
  if (otelCollectorMissing !== null) return skip(otelCollectorMissing)
  const router = await service.newRouter()
  const page = readFileSync(join(import.meta.dirname, '../../../docs/adapters.md'), 'utf8')
  const [, documented = ''] = /^```yaml\n(exporters:.*?)^```$/ms.exec(page) ?? []
  const { exporters } = parse(
    documented.replace('https://fleet.example.com', service.url).replace('<device token>', router.token),
  )
  const collector = await startOtelCollector('metrics', exporters)
  try {
    await exportWith(new JsonExporter({ url: `${collector.url}/v1/metrics` }))
    const device = await until('the router is on the map', async () => {
      const { devices } = await service.admin('GET', '/fleet/gps')
      return devices.find(({ deviceId, location }: MapDevice) => deviceId === router.id && location)
    })
    expect(device).toMatchObject({ location: { lat: 51.9, lon: -8.47 } })
    const { cellular } = await service.latest(router, 'cellular')
    expect(cellular).toMatchObject({ rat: 'lte', plmn: '26203', rsrpDbm: -95.5, pci: 12 })
  } catch (error) {
    throw new Error(collector.output(), { cause: error })
  } finally {
    await collector.stop()
  }
})

test('data points that no field can hold are a partial success', async () => {
  const router = await service.newRouter()
  const metrics = [gauge('system.cpuPct', 7), gauge('process.cpu.time', 1), gauge('system.load1', 1, Date.UTC(2019))]
  const answer = await service.send(path, request(metrics), { ...bearer(router.token), ...json })
  expect(answer).toMatchObject({ status: 200, json: { partialSuccess: { rejectedDataPoints: '2' } } })
  expect((await service.latest(router, 'system')).system).toMatchObject({ cpuPct: 7, load1: null })
  const labels = ['source="otlp"', 'field="process.cpu.time"', 'reason="unmapped"']
  expect(await service.metric('telemetry_adapter_fields_dropped_total', labels)).toBe(1)
})

test('a request without data is a full success', async () => {
  const router = await service.newRouter()
  const empty = await service.send(path, '', { ...bearer(router.token), ...protobuf })
  expect([empty.status, empty.bytes.length, empty.headers.get('content-type')]).toEqual([
    200,
    0,
    'application/x-protobuf',
  ])
  expect(await service.send(path, '{}', { ...bearer(router.token), ...json })).toMatchObject({ status: 200, json: {} })
})

test('errors are a google.rpc.Status in the encoding of the request', async () => {
  const router = await service.newRouter()
  const own = bearer(router.token)
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  for (const [status, code, body, headers] of [
    [401, 16, '{}', json],
    [401, 16, '{}', { ...json, ...bearer(issueToken('fld').token) }],
    [400, 3, '{', { ...json, ...own }],
    [400, 3, '['.repeat(1024 * 1024), { ...json, ...own }],
    [413, 3, bomb, { ...json, ...own, 'content-encoding': 'gzip' }],
    [415, 3, '{}', { 'content-type': 'text/plain', ...own }],
    [415, 3, '{}', { ...json, ...own, 'content-encoding': 'deflate' }],
  ] as const) {
    const answer = await service.send(path, body, headers)
    expect([answer.status, answer.json]).toEqual([status, { code, message: expect.any(String) }])
  }
  for (const [status, code, body, headers] of [
    [401, 16, '', protobuf],
    [400, 3, Buffer.alloc(1024 * 1024, 0x0b), { ...protobuf, ...own }],
    [413, 3, bomb, { ...protobuf, ...own, 'content-encoding': 'gzip' }],
  ] as const) {
    const answer = await service.send(path, body, headers)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/x-protobuf'])
    // Field 1 is the code as a varint, field 2 the message.
    expect([...answer.bytes.subarray(0, 3)]).toEqual([0x08, code, 0x12])
  }
})
