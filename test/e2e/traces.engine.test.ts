import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type OtelCollector, otelCollectorMissing, startOtelCollector } from '#test/otel-collector'
import { isOnCluster } from '#test/product-process'
import { type ReceivedSpan, startSpanReceiver } from '#test/span-receiver'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

let service: WholeService
let receiver: Awaited<ReturnType<typeof startSpanReceiver>>
let collector: OtelCollector | undefined

beforeAll(async () => {
  receiver = await startSpanReceiver()
  if (otelCollectorMissing === null) {
    const exporter = { endpoint: receiver.url, encoding: 'json', compression: 'none' }
    collector = await startOtelCollector('traces', { otlphttp: exporter })
  }
  service = await startWholeService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector?.url ?? receiver.url })
}, 120_000)
afterAll(async () => {
  await service.close()
  await collector?.stop()
  receiver.close()
})

// biome-ignore lint/suspicious/noExplicitAny: the responses have many shapes.
async function call(key: string, method: string, path: string, json?: unknown, headers = {}): Promise<any> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })
  expect(response.ok, `${method} ${path} returned ${response.status}`).toBe(true)
  return response.json()
}

/** An organization with a group of one router, and the router's token. */
async function createFleet() {
  const { id: orgId } = await call(service.adminKey, 'POST', '/orgs', { name: 'Harbour ferries', plan: 'enterprise' })
  const device = { organizationId: orgId, serial: 'SN-1', name: 'Ferry 1', model: 'RX-500', tags: ['ferry'] }
  const { id: deviceId } = await call(service.adminKey, 'POST', '/devices', device)
  const { token } = await call(service.adminKey, 'POST', `/devices/${deviceId}/token`, {})
  const group = { name: 'Ferries', smartTags: ['ferry'] }
  const { id: groupId } = await call(service.adminKey, 'POST', `/orgs/${orgId}/groups`, group)
  return { orgId, deviceId, token, groupId }
}

/** The names of a span and of its ancestors, with their apps, from the root on. */
function pathOf(spans: readonly ReceivedSpan[], span: ReceivedSpan): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return [...(parent ? pathOf(spans, parent) : []), `${span.app}: ${span.name}`]
}

const toDispatch = [
  'control-plane: POST /orgs/:orgId/groups/:id/jobs',
  'worker: jobs offer',
  'worker: batch process',
  'worker: jobs dispatch',
]

beforeEach(({ skip }) => skip(isOnCluster, 'The settings of this service are not those of a cluster.'))

/** How the spans of these tests reach them. */
const through = otelCollectorMissing === null ? ', through an OpenTelemetry collector' : ''

test(`one trace leads from the request for a group reboot to the router that runs it${through}`, async () => {
  const { orgId, deviceId, token, groupId } = await createFleet()
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const caller = '00f067aa0ba902b7'
  const polled = call(token, 'GET', '/device/jobs/next?waitSeconds=30')
  await call(
    service.adminKey,
    'POST',
    `/orgs/${orgId}/groups/${groupId}/jobs`,
    { kind: 'reboot' },
    {
      traceparent: `00-${traceId}-${caller}-01`,
    },
  )
  const job = await polled
  expect(Object.keys(job)).not.toContain('traceparent')
  await call(token, 'POST', `/device/jobs/${job.id}/status`, { attempt: 1, status: 'succeeded' })

  const spans = await until('the trace is complete', async () => {
    const seen = receiver.spans.filter((span) => span.traceId === traceId)
    return seen.length >= 6 && seen
  })
  const leaves = spans.filter(({ spanId }) => !spans.some(({ parentSpanId }) => parentSpanId === spanId))
  expect(leaves.map((leaf) => pathOf(spans, leaf)).sort()).toEqual([
    [...toDispatch, 'ingest: GET /device/jobs/next'],
    [...toDispatch, 'ingest: POST /device/jobs/:id/status'],
  ])
  const [root] = spans.filter(({ parentSpanId }) => parentSpanId === caller)
  expect(root?.attributes).toMatchObject({ 'http.response.status_code': 202 })
  expect(leaves[0]?.attributes).toMatchObject({ 'device.id': deviceId, 'job.id': job.id })
  for (const { startMs, endMs } of spans) expect(endMs).toBeGreaterThanOrEqual(startMs)
})

test('a job for a single router has a trace of its own', async () => {
  const { token, deviceId } = await (async () => {
    const { id: organizationId } = await call(service.adminKey, 'POST', '/orgs', { name: 'Single', plan: 'enterprise' })
    const device = { organizationId, serial: 'SN-2', name: 'Ferry 2', model: 'RX-500' }
    const { id } = await call(service.adminKey, 'POST', '/devices', device)
    const issued = await call(service.adminKey, 'POST', `/devices/${id}/token`, {})
    return { token: issued.token, deviceId: id }
  })()
  await call(service.adminKey, 'POST', `/devices/${deviceId}/jobs`, { kind: 'speed_test' })
  const job = await call(token, 'GET', '/device/jobs/next?waitSeconds=30')
  const delivery = await until('the delivery is in the trace', async () =>
    receiver.spans.find(({ name, attributes }) => name === 'GET /device/jobs/next' && attributes['job.id'] === job.id),
  )
  const spans = await until('the root is in the trace', async () => {
    const seen = receiver.spans.filter(({ traceId }) => traceId === delivery.traceId)
    return seen.some(({ parentSpanId }) => !parentSpanId) && seen
  })
  expect(pathOf(spans, delivery)).toEqual([
    'control-plane: POST /devices/:id/jobs',
    'worker: jobs offer',
    'worker: dispatch process',
    'worker: jobs dispatch',
    'ingest: GET /device/jobs/next',
  ])
})
