import { afterAll, beforeAll, expect, test } from 'vitest'
import { deviceCalls } from '#test/job-service'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

// Jobs that wait for a good moment, from the reports of a router to the job that it takes.

let service: WholeService
beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterAll(() => service.close())

const call = (method: string, path: string, token: string, body?: unknown) =>
  deviceCalls(service.url, token).call(method, path, body)

const admin = (method: string, path: string, body?: unknown) => call(method, path, service.adminKey, body)

/** An organization of its own with one router. */
async function newRouter() {
  const { id: organizationId } = (await admin('POST', '/orgs', { name: 'Buses', plan: 'pro' })).body
  const device = { organizationId, serial: 'SN-1', name: 'Bus 1', model: 'RX400' }
  const { id: deviceId } = (await admin('POST', '/devices', device)).body
  const { token } = (await admin('POST', `/devices/${deviceId}/token`)).body
  const job = async (id: string) => (await admin('GET', `/orgs/${organizationId}/jobs/${id}`)).body
  async function report(samples: object[]) {
    const { status, body } = await call('POST', '/telemetry', token, { samples })
    expect([status, body.accepted]).toEqual([202, samples.length])
    return body
  }
  return {
    organizationId,
    deviceId,
    /** Creates a job and waits until it is in the mailbox. */
    async newJob(delivery: object): Promise<string> {
      const { body } = await admin('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot', delivery })
      await until('the job is in the mailbox', async () => (await job(body.id)).status === 'dispatched')
      return body.id
    },
    job,
    report,
    /** Repeats a report until the job is held for a reason. */
    reportUntil: (id: string, reason: string, samples: () => object[]) =>
      until(`it is held because of ${reason}`, async () => {
        await report(samples())
        return (await job(id)).heldBecause === reason
      }),
    /** What the router is handed when it asks without waiting. */
    next: async () => (await call('GET', '/device/jobs/next', token)).body?.id,
    async finish(id: string) {
      const done = { attempt: 1, status: 'succeeded' }
      expect((await call('POST', `/device/jobs/${id}/status`, token, done)).status).toBeLessThan(300)
    },
    latest: async () => (await admin('GET', `/api/router/${deviceId}/telemetry/latest`)).body,
  }
}

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString()
const signal = (rsrpDbm: number, more: object = {}) => ({ kind: 'cellular', ts: ago(0), rat: 'lte', rsrpDbm, ...more })

test('a router that asks after the report of a good moment is handed the job, without waiting for it', async () => {
  const router = await newRouter()
  const id = await router.newJob({ when: 'goodSignal' })
  await router.reportUntil(id, 'signalTooWeak', () => [signal(-112)])
  expect(await router.next()).toBeUndefined()
  // The answer to a report says that there is a job, also while it waits.
  expect((await router.report([signal(-111)])).jobsPending).toBe(1)
  await router.report([signal(-80)])
  expect(await router.next()).toBe(id)
})

test('the signal of the modem in use decides', async () => {
  const router = await newRouter()
  const id = await router.newJob({ when: 'goodSignal' })
  const uses = (modem: string) => ({ kind: 'connection', ts: ago(0), modem, state: 'connected' })
  await router.reportUntil(id, 'signalTooWeak', () => [
    uses('wwan0'),
    signal(-112, { modem: 'wwan0' }),
    signal(-75, { modem: 'wwan1' }),
  ])
  await router.report([uses('wwan1'), signal(-75, { modem: 'wwan1' })])
  expect(await router.next()).toBe(id)
})

test('a job waits until the router dwells', async () => {
  const router = await newRouter()
  const id = await router.newJob({ when: 'goodSignalAndDwell' })
  const fix = (secondsAgo: number, lat: number) => ({
    kind: 'location',
    ts: ago(secondsAgo),
    lat,
    lon: 8.5,
    accuracyM: 5,
  })
  await router.reportUntil(id, 'notDwelling', () => [fix(900, 48), fix(840, 48.02), signal(-80)])
  await router.report(Array.from({ length: 14 }, (_, index) => fix(800 - 60 * index, 48.1)))
  expect(await router.next()).toBe(id)
})

test('400 for what a delivery cannot be, with the place', async () => {
  const { deviceId } = await newRouter()
  const create = async (delivery: unknown) => {
    const { status, body } = await admin('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot', delivery })
    return [status, body.errors?.[0]?.pointer]
  }
  expect(await create({})).toEqual([400, '/delivery/when'])
  expect(await create({ when: 'night' })).toEqual([400, '/delivery/when'])
  expect(await create({ when: 'dwell', minQuality: 'none' })).toEqual([400, '/delivery/minQuality'])
  expect(await create({ when: 'dwell', latestAt: 'soon' })).toEqual([400, '/delivery/latestAt'])
  expect(await create({ when: 'dwell', latestAt: ago(60) })).toEqual([400, '/delivery/latestAt'])
  expect(await create({ when: 'dwell', atLatest: 'expire' })).toEqual([400, '/delivery/atLatest'])
  expect(await create({ when: 'dwell', until: ago(-60) })).toEqual([400, '/delivery/until'])
})

test('a good moment during one job does not deliver the next one', async () => {
  const router = await newRouter()
  const first = await router.newJob({ when: 'goodSignal' })
  await router.reportUntil(first, 'signalTooWeak', () => [signal(-112)])
  await router.report([signal(-80)])
  expect(await router.next()).toBe(first)
  await router.finish(first)
  await router.report([signal(-111)])
  await until('the weak signal is stored', async () => JSON.stringify(await router.latest()).includes('-111'))
  const second = await router.newJob({ when: 'goodSignal' })
  await expect.poll(async () => (await router.job(second)).heldBecause).not.toBeNull()
  await router.report([signal(-111)])
  expect(await router.next()).toBeUndefined()
  await router.reportUntil(second, 'signalTooWeak', () => [signal(-111)])
  await router.report([signal(-80)])
  expect(await router.next()).toBe(second)
})
