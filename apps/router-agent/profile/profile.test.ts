import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent as ConnectionPool } from 'undici'
import { expect, type TestContext, test, vi } from 'vitest'
import { settingsDigest, withoutSecrets } from '#core/settings-digest'
import { accepted, enrolled, type PeerAnswer, type Received, startEdgePeer } from '#test/edge-peer'
import { createAgent } from '../agent.ts'
import { createEdgeClient } from '../edge-client.ts'
import { openSampleBuffer } from '../sample-buffer.ts'
import { openStateFile } from '../state-file.ts'

type Json = Record<string, unknown>

const secrets = ['/wifi/password']

function profileOf(version: number, settings: Json = { wifi: { ssid: `fleet-${version}`, password: 'hunter2' } }) {
  return { id: 'p-1', version, settings, secrets, digest: settingsDigest(withoutSecrets(settings, secrets)) }
}

const applyJob = (id: string, profile: object) => ({
  id,
  kind: 'apply_config',
  attempt: 1,
  parameters: { profile },
  cancelRequested: false,
})

const isFinal = ({ status }: Json) => status !== 'inProgress'

/**
 * A service with a queue of jobs. `link.isDown` cuts each connection, as a network that the router cannot reach. `answer` may
 * respond instead of the service, also then. `answered` has the requests that received a response.
 */
async function startService(t: TestContext, answer: (request: Received) => Answer | Promise<Answer> = () => undefined) {
  const jobs: object[] = []
  const link = { isDown: false }
  const answered: Received[] = []
  const peer = await startEdgePeer(async (request) => {
    const response = (await answer(request)) ?? (link.isDown ? 'cut' : usual(request, jobs))
    if (response !== 'cut') answered.push(request)
    return response
  })
  t.onTestFinished(peer.close)
  const bodies = (of: (request: Received) => boolean): Json[] => answered.filter(of).map(({ body }) => JSON.parse(body))
  return {
    baseUrl: peer.baseUrl,
    jobs,
    link,
    answered,
    finalReports: () => bodies(({ path }) => path.endsWith('/status')).filter(isFinal),
    configs: () => bodies(isConfigReport),
  }
}

type Answer = PeerAnswer | undefined
type Service = Awaited<ReturnType<typeof startService>>

const isConfigReport = ({ method, path }: Received) => method === 'PUT' && path === '/device/config'

function usual({ path, body }: Received, jobs: object[]): PeerAnswer {
  if (path === '/device/enroll') return enrolled
  if (path === '/telemetry') return accepted({ jobsPending: jobs.length })
  if (path.endsWith('/status')) return { status: 200, body: { ...JSON.parse(body), cancelRequested: false } }
  if (path === '/device/config') return { status: 200, body: { state: 'inSync' } }
  const job = jobs.shift()
  return job ? { status: 200, body: job } : { status: 204 }
}

/** A service whose job `bad` breaks the connection of the router: it applies the profile after its first report. */
async function startServiceWithBadProfile(
  t: TestContext,
  answer: (request: Received) => Answer | Promise<Answer> = () => undefined,
) {
  const service: Service = await startService(t, (request) => {
    if (!isOfBadJob(request) || !request.body.includes('inProgress')) return answer(request)
    service.link.isDown = true
    return usual(request, [])
  })
  return service
}

const isOfBadJob = ({ path }: Received) => path === '/device/jobs/bad/status'

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'profile-'))
  t.onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function startRouter(t: TestContext, { baseUrl }: Service, folder: string, rollBackAfterMs = 600_000) {
  const pool = new ConnectionPool({ connections: 4 })
  const events: string[] = []
  let ts = 0
  const state = await openStateFile(folder, '1.0.0')
  const agent = createAgent({
    connect: (signal) => createEdgeClient({ baseUrl, dispatcher: pool, signal }),
    enrollment: { enrollmentKey: 'fle_test', serial: 'S-1', model: 'router' },
    folder,
    state,
    buffer: await openSampleBuffer(join(folder, 'buffer')),
    source: { collect: () => [{ ts: ++ts, kind: 'system' }], isLinkUp: () => true, isExhausted: () => false },
    clock: Date.now,
    random: () => 0,
    log: (event) => events.push(event),
    bootedAtMs: Date.now(),
    reportEveryMs: 20,
    longPollSeconds: 0,
    rollBackAfterMs,
  })
  const ended = agent.run()
  const stop = async () => {
    agent.stop()
    await ended
    await pool.destroy()
  }
  t.onTestFinished(stop)
  return { state, events, stop }
}

/** A router that runs version 1, which it has reported to the service. */
async function startRouterWithVersion1(t: TestContext, service: Service, folder: string, rollBackAfterMs?: number) {
  const { settings, ...profile } = profileOf(1)
  await (await openStateFile(folder, '1.0.0')).update({ profile })
  await writeFile(join(folder, 'config.json'), JSON.stringify({ id: 'p-1', version: 1, settings }), { mode: 0o600 })
  const router = await startRouter(t, service, folder, rollBackAfterMs)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(1), patience)
  return router
}

const configIn = async (folder: string): Promise<Json> =>
  JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'))
const versionIn = async (folder: string) => (await configIn(folder)).version
const patience = { timeout: 20_000, interval: 20 }

test.concurrent('after the service has accepted a success, and after a start, the router reports what it runs', async (t) => {
  const service = await startService(t)
  const folder = await newFolder(t)
  service.jobs.push(applyJob('good', profileOf(1)))
  const router = await startRouter(t, service, folder)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(1), patience)
  const { digest } = profileOf(1)
  expect(service.configs()).toEqual([{ profileId: 'p-1', version: 1, digest }])
  const order = service.answered.filter((request) => isConfigReport(request) || request.body.includes('succeeded'))
  expect(order.map(({ method }) => method)).toEqual(['POST', 'PUT'])
  expect(service.answered.find(isConfigReport)?.headers).toMatchObject({
    authorization: 'Bearer fld_test',
    'content-type': 'application/json',
  })
  expect(await readdir(folder)).not.toContain('config.previous.json')

  await router.stop()
  await startRouter(t, service, folder)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.configs()[1]).toEqual(service.configs()[0])
})

test.concurrent('a local change is reported once, with the settings but without secrets', async (t) => {
  const service = await startService(t)
  const folder = await newFolder(t)
  await startRouterWithVersion1(t, service, folder)
  const changed = { wifi: { ssid: 'mine', password: 'hunter2' }, lan: { dhcp: false } }
  await writeFile(join(folder, 'config.json'), JSON.stringify({ id: 'p-1', version: 1, settings: changed }))
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  const settings = { wifi: { ssid: 'mine' }, lan: { dhcp: false } }
  expect(service.configs()[1]).toEqual({ profileId: 'p-1', version: 1, digest: settingsDigest(settings), settings })

  const telemetry = () => service.answered.filter(({ path }) => path === '/telemetry').length
  const before = telemetry()
  await vi.waitFor(() => expect(telemetry()).toBeGreaterThan(before + 5), patience)
  expect(service.configs()).toHaveLength(2)
})

test.concurrent.for<[string, (file: string) => Promise<void>, Json]>([
  ['that was deleted', (file) => rm(file), { digest: settingsDigest({}), settings: {} }],
  ['with more than 64 KiB', (file) => writeFile(file, JSON.stringify({ settings: { a: 'x'.repeat(70_000) } })), {}],
])('a config file %s is reported', async ([, change, report], t) => {
  const service = await startService(t)
  const folder = await newFolder(t)
  await startRouterWithVersion1(t, service, folder)
  await change(join(folder, 'config.json'))
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.configs()[1]).toMatchObject({ profileId: 'p-1', version: 1, ...report })
  expect(service.configs()[1]?.digest).not.toBe(profileOf(1).digest)
  expect(JSON.stringify(service.configs()[1]).length).toBeLessThan(300)
})

test.concurrent('a report without an answer or with 503 is sent again, with the newest state', async (t) => {
  const folder = await newFolder(t)
  const settings = { new: true }
  const failures: (() => Promise<PeerAnswer>)[] = [
    async () => 'cut',
    async () => {
      await writeFile(join(folder, 'config.json'), JSON.stringify({ id: 'p-1', version: 1, settings }))
      return { status: 503 }
    },
  ]
  const service = await startService(t, (request) => (isConfigReport(request) ? failures.shift()?.() : undefined))
  await startRouterWithVersion1(t, service, folder)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.configs()[0]).not.toHaveProperty('settings')
  expect(service.configs()[1]).toMatchObject({ settings })
})

test.concurrent('an older service that does not know the report receives it once per start', async (t) => {
  const service = await startService(t, (request) => (isConfigReport(request) ? { status: 404 } : undefined))
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder)
  await vi.waitFor(() => expect(router.events).toContain('config_report_unsupported'), patience)
  service.jobs.push(applyJob('next', profileOf(2)))
  await vi.waitFor(() => expect(service.finalReports()).toHaveLength(1), patience)
  await router.stop()
  expect(service.configs()).toHaveLength(1)
  await startRouter(t, service, folder)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
})

test.concurrent('an older service that sends no digest receives no report', async (t) => {
  const service = await startService(t)
  const { id, version, settings } = profileOf(1)
  service.jobs.push(applyJob('a', { id, version, settings }), applyJob('b', { id, version, settings }))
  await startRouter(t, service, await newFolder(t))
  await vi.waitFor(() => expect(service.finalReports()).toHaveLength(2), patience)
  expect(service.configs()).toEqual([])
})

test.concurrent('without contact after a bad profile, the router restores the previous one and reports it', async (t) => {
  const service = await startServiceWithBadProfile(t)
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 400)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(service.link.isDown).toBe(true), patience)
  await vi.waitFor(() => expect(router.events).toContain('config_rolled_back'), patience)
  expect(await configIn(folder)).toMatchObject({
    version: 1,
    settings: { wifi: { ssid: 'fleet-1', password: 'hunter2' } },
  })
  expect((await stat(join(folder, 'config.json'))).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).not.toContain('config.previous.json')

  service.link.isDown = false
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.finalReports()).toMatchObject([{ attempt: 1, status: 'failed', code: 'rolled_back' }])
  expect(service.finalReports()[0]?.detail).toMatch(/did not answer for 0 s.*restored the previous config/)
  expect(service.configs()[1]).toEqual({ profileId: 'p-1', version: 1, digest: profileOf(1).digest })

  // A second delivery of the attempt is reported again and does not run.
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(service.finalReports()).toHaveLength(2), patience)
  expect(service.finalReports()[1]).toEqual(service.finalReports()[0])
  expect(await versionIn(folder)).toBe(1)
})

test.concurrent('the next attempt of a job that timed out meanwhile is rolled back as well, and a retry after that runs', async (t) => {
  const service = await startServiceWithBadProfile(t, ({ path, body }) =>
    path === '/device/jobs/bad/status' && JSON.parse(body).attempt === 1 && body.includes('failed')
      ? { status: 409 }
      : undefined,
  )
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 400)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(router.events).toContain('config_rolled_back'), patience)
  await router.stop()
  service.link.isDown = false
  await startRouter(t, service, folder)
  await vi.waitFor(() => expect(service.finalReports()).toHaveLength(1), patience)
  service.jobs.push({ ...applyJob('bad', profileOf(2)), attempt: 2 })
  await vi.waitFor(() => expect(service.finalReports()).toHaveLength(2), patience)
  expect(service.finalReports()[1]).toMatchObject({ attempt: 2, status: 'failed', code: 'rolled_back' })
  expect(await versionIn(folder)).toBe(1)

  service.jobs.push({ ...applyJob('bad', profileOf(2)), attempt: 3 })
  await vi.waitFor(async () => expect(await versionIn(folder)).toBe(2), patience)
})

test.concurrent('a router without a previous profile has none after a roll-back', async (t) => {
  const service = await startServiceWithBadProfile(t)
  const folder = await newFolder(t)
  service.jobs.push(applyJob('bad', profileOf(2)))
  const router = await startRouter(t, service, folder, 400)
  await vi.waitFor(() => expect(router.events).toContain('config_rolled_back'), patience)
  expect(await readdir(folder)).not.toContain('config.json')
  expect(router.state.read().profile).toBeUndefined()
  service.link.isDown = false
  await vi.waitFor(() => expect(service.finalReports()).toMatchObject([{ code: 'rolled_back' }]), patience)
  expect(service.configs()).toEqual([])
})

test.concurrent('a restart without contact does not forget the roll-back, nor the time that has passed', async (t) => {
  const service = await startServiceWithBadProfile(t)
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 600_000)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(async () => expect(await versionIn(folder)).toBe(2), patience)
  await router.stop()
  expect(await versionIn(folder)).toBe(2)
  const { trial } = (await openStateFile(folder, '1.0.0')).read()
  expect(trial?.waitedMs).toBeGreaterThan(0)

  const restarted = await startRouter(t, service, folder, 400)
  await vi.waitFor(() => expect(restarted.events).toContain('config_rolled_back'), patience)
  expect(await versionIn(folder)).toBe(1)
  await restarted.stop()
  service.link.isDown = false
  await startRouter(t, service, folder, 400)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.finalReports()).toMatchObject([{ attempt: 1, status: 'failed', code: 'rolled_back' }])
  expect(service.configs()[1]).toMatchObject({ version: 1, digest: profileOf(1).digest })
})

test.concurrent('contact after a restart keeps the new profile', async (t) => {
  const service = await startServiceWithBadProfile(t)
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 600_000)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(service.link.isDown).toBe(true), patience)
  await vi.waitFor(() => expect(router.state.read().jobs.at(-1)?.phase).toBe('done'), patience)
  await router.stop()
  service.link.isDown = false
  const restarted = await startRouter(t, service, folder, 600_000)
  await vi.waitFor(() => expect(restarted.events).toContain('config_kept'), patience)
  expect(await versionIn(folder)).toBe(2)
  expect(restarted.state.read().trial).toBeUndefined()
})

test.concurrent('any HTTP answer is contact, also 503', async (t) => {
  let isBroken = false
  const service = await startService(t, ({ path }) => {
    if (isBroken) return { status: 503 }
    isBroken = path === '/device/jobs/bad/status'
    return undefined
  })
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 600_000)
  const kept = () => router.events.filter((event) => event === 'config_kept')
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(kept()).toHaveLength(1), patience)
  isBroken = false
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.configs()[1]).toMatchObject({ version: 2 })
  expect(await versionIn(folder)).toBe(2)
})

test.concurrent.for([302, 511])('%i of a network that asks for a login is no contact', async (status, t) => {
  const service: Service = await startServiceWithBadProfile(t, () => (service.link.isDown ? { status } : undefined))
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 400)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(router.events).toContain('config_rolled_back'), patience)
  expect(await versionIn(folder)).toBe(1)
})

test.concurrent('a success whose answer arrives after the roll-back is corrected', async (t) => {
  const rolledBack = Promise.withResolvers<void>()
  const service = await startServiceWithBadProfile(t, async (request) => {
    if (!isOfBadJob(request) || !request.body.includes('succeeded')) return undefined
    await rolledBack.promise
    return usual(request, [])
  })
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 400)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(router.events).toContain('config_rolled_back'), patience)
  service.link.isDown = false
  rolledBack.resolve()
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(service.finalReports().at(-1)).toMatchObject({ status: 'failed', code: 'rolled_back' })
  expect(service.configs()[1]).toMatchObject({ version: 1, digest: profileOf(1).digest })
  expect(await versionIn(folder)).toBe(1)
})

test.concurrent('an older service that refuses the code receives the report without it', async (t) => {
  const service = await startServiceWithBadProfile(t, (request) =>
    isOfBadJob(request) && request.body.includes('"code"') && !service.link.isDown ? { status: 400 } : undefined,
  )
  const folder = await newFolder(t)
  const router = await startRouterWithVersion1(t, service, folder, 400)
  service.jobs.push(applyJob('bad', profileOf(2)))
  await vi.waitFor(() => expect(router.events).toContain('config_rolled_back'), patience)
  service.link.isDown = false
  await vi.waitFor(() => expect(service.finalReports()).toHaveLength(2), patience)
  const [refused, taken] = service.finalReports()
  expect(refused).toMatchObject({ status: 'failed', code: 'rolled_back' })
  expect(taken).toEqual({ attempt: 1, status: 'failed', detail: refused?.detail })
})

test.concurrent.for<[string, number, boolean]>([
  ['before the new config was written', 1, false],
  ['after the new config was written', 2, false],
  ['during the roll-back', 2, true],
  ['at the end of the roll-back', 1, true],
])('a crash %s leaves the previous config', async ([, written, isRestoring], t) => {
  const service = await startService(t)
  const folder = await newFolder(t)
  const first = await startRouterWithVersion1(t, service, folder)
  await first.stop()
  const config = await configIn(folder)
  const isRenamed = isRestoring && written === 1
  if (!isRenamed) await writeFile(join(folder, 'config.previous.json'), JSON.stringify(config))
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, version: written }))
  const state = await openStateFile(folder, '1.0.0')
  const { profile, jobs } = state.read()
  const report = { status: 'failed' as const, code: 'rolled_back', detail: '' }
  const running = { id: 'bad', attempt: 1, kind: 'apply_config', phase: 'running' as const, reported: false }
  await state.update({
    profile: written === 2 ? profileOf(2) : profile,
    trial: { job: { id: 'bad', attempt: 1 }, previous: profile, hasPrevious: true, waitedMs: 0, isRestoring },
    jobs: [...jobs, isRestoring ? { ...running, phase: 'done', report } : running],
  })

  const restarted = await startRouter(t, service, folder)
  await vi.waitFor(() => expect(service.configs()).toHaveLength(2), patience)
  expect(await configIn(folder)).toEqual(config)
  expect(restarted.state.read().profile).toEqual(profile)
  expect(restarted.state.read().trial).toBeUndefined()
  expect(service.finalReports()).toMatchObject([{ status: 'failed' }])
  expect(service.configs()[1]).toMatchObject({ version: 1, digest: profileOf(1).digest })
})
