import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'
import {
  createClient,
  createTelemetrySender,
  ProblemError,
  type Routerfleet,
} from '../../clients/typescript/src/index.ts'

let service: WholeService
let fleet: Routerfleet
let organizationId: string

beforeAll(async () => {
  service = await startWholeService()
  fleet = createClient({ baseUrl: service.url, key: service.adminKey })
  organizationId = (await fleet.post('/orgs', { body: { name: 'Buses', plan: 'enterprise' } })).id
}, 120_000)
afterAll(() => service.close())

const newDevice = (serial: string, tags = ['bus']) =>
  fleet.post('/devices', { body: { organizationId, serial, name: `Bus ${serial}`, model: 'RX-500', tags } })

const newToken = async (id: string) =>
  (await fleet.post('/devices/{id}/token', { params: { path: { id } }, body: {} })).token

test('a list yields every device once, over several pages', async () => {
  const created = []
  for (const number of [1, 2, 3, 4, 5]) created.push((await newDevice(`L-${number}`, ['listed'])).id)
  const listed = []
  for await (const { id } of fleet.list('/devices', { params: { query: { tag: ['listed'], limit: 2 } } }))
    listed.push(id)
  expect(listed).toEqual(created.reverse())
})

test('a refusal is an error with the code of the problem document', async () => {
  await newDevice('TWICE')
  const error = await newDevice('TWICE').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ProblemError)
  expect(error).toMatchObject({ status: 409, code: 'serial_taken', requestId: expect.stringMatching(/./) })
})

test('a repetition with the same idempotency key creates one device', async () => {
  const headers = { 'Idempotency-Key': 'the-same' }
  const body = { organizationId, serial: 'ONCE', name: 'Bus', model: 'RX-500' }
  const first = await fleet.post('/devices', { body, headers })
  const second = await fleet.post('/devices', { body, headers })
  expect(second.id).toBe(first.id)
})

test('waiting for a batch follows it to its end', async () => {
  const { id } = await newDevice('B-1', ['batch'])
  const router = createClient({ baseUrl: service.url, key: await newToken(id) })
  const groups = { params: { path: { orgId: organizationId } }, body: { name: 'Batch', smartTags: ['batch'] } }
  const group = await fleet.post('/orgs/{orgId}/groups', groups)
  const path = { orgId: organizationId, id: group.id }
  const batch = await fleet.post('/orgs/{orgId}/groups/{id}/jobs', { params: { path }, body: { kind: 'reboot' } })
  const seen: string[] = []
  const waiting = fleet.waitForBatch({
    organizationId,
    batchId: batch.id,
    onProgress: ({ counts }) => void seen.push(counts.succeeded === 1 ? 'succeeded' : 'open'),
  })
  const job = await router.get('/device/jobs/next', { params: { query: { waitSeconds: 20 } } })
  await router.post('/device/jobs/{id}/status', {
    params: { path: { id: job.id } },
    body: { attempt: job.attempt, status: 'succeeded' },
  })
  expect(await waiting).toMatchObject({ status: 'finished', counts: { succeeded: 1 } })
  expect([seen[0], seen.at(-1)]).toEqual(['open', 'succeeded'])
})

test('a dry run returns what a request would create', async () => {
  await newDevice('D-1', ['dry'])
  const groups = { params: { path: { orgId: organizationId } }, body: { name: 'Dry', smartTags: ['dry'] } }
  const { id } = await fleet.post('/orgs/{orgId}/groups', groups)
  const params = { path: { orgId: organizationId, id } }
  const plan = await fleet.dryRun('/orgs/{orgId}/groups/{id}/jobs', { params, body: { kind: 'reboot' } })
  expect(plan).toMatchObject({ dryRun: true, total: 1, stages: [{ devices: 1 }] })
})

test('what a sender reports can be read, once, even if a report is sent twice', async () => {
  const { id } = await newDevice('T-1')
  const sent: Request[] = []
  const sender = createTelemetrySender({
    baseUrl: service.url,
    token: await newToken(id),
    // The service has stored the first report, but its answer is lost.
    fetch: async (request) => {
      sent.push(request.clone())
      const response = await fetch(request)
      if (sent.length === 1) throw new TypeError('fetch failed')
      return response
    },
  })
  sender.add({ kind: 'cellular', rat: 'lte', rsrpDbm: -97, sinrDb: 9 })
  await sender.close()
  expect(sent).toHaveLength(2)
  const params = { path: { modelSegment: 'router', deviceId: id } }
  const items = await until('the sample is readable', async () => {
    const history = await fleet.get('/api/{modelSegment}/{deviceId}/telemetry/history', { params })
    return history.items.length > 0 && history.items
  })
  expect(items).toMatchObject([{ kind: 'cellular', rsrpDbm: -97 }])
})
