import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent as ConnectionPool } from 'undici'
import { afterEach, expect, test } from 'vitest'
import { type EdgePeer, type PeerAnswer, type Received, sha256, startEdgePeer } from '#test/edge-peer'
import type { Action } from './actions/action.ts'
import { createBackoff } from './backoff.ts'
import { createEdgeClient } from './edge-client.ts'
import { createJobRunner, type JobRunner } from './job-runner.ts'
import { createProfileTrial } from './profile/profile-trial.ts'
import { type AgentStateFile, openStateFile } from './state-file.ts'

const cleanUp: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step()
})

/** A service that hands out each job until it is reported. `onReport` may respond to a report instead. */
async function startService(
  jobs: Record<string, unknown>[],
  onReport: (report: Record<string, unknown>) => PeerAnswer | undefined = () => undefined,
  other: (request: Received) => PeerAnswer = () => ({ status: 200, body: {} }),
): Promise<EdgePeer & { sentReports: () => Record<string, unknown>[] }> {
  const peer = await startEdgePeer((request) => {
    if (request.path.startsWith('/device/jobs/next')) {
      const job = jobs.shift()
      return job
        ? { status: 200, body: { attempt: 1, parameters: {}, cancelRequested: false, ...job } }
        : { status: 204 }
    }
    const report = request.path.endsWith('/status') ? JSON.parse(request.body) : undefined
    if (!report) return other(request)
    return onReport(report) ?? { status: 200, body: { status: report.status, cancelRequested: false } }
  })
  cleanUp.push(peer.close)
  const sentReports = () =>
    peer.received.filter(({ path }) => path.endsWith('/status')).map(({ body }) => JSON.parse(body))
  return { ...peer, sentReports }
}

type Router = { runner: JobRunner; state: AgentStateFile; folder: string }

async function startRunner(baseUrl: string, folder?: string, actions?: Record<string, Action>): Promise<Router> {
  const home = folder ?? (await mkdtemp(join(tmpdir(), 'job-runner-')))
  if (!folder) cleanUp.push(() => rm(home, { recursive: true, force: true }))
  const pool = new ConnectionPool({ connections: 4 })
  cleanUp.push(() => pool.destroy())
  const state = await openStateFile(home, '1.0.0')
  const edge = createEdgeClient({ baseUrl, dispatcher: pool, signal: new AbortController().signal })
  const pause = () => Promise.resolve()
  const never = () => new Promise<void>(() => undefined)
  const isStopping = () => false
  const log = () => undefined
  const runner = createJobRunner({
    edge,
    token: 'fld_test',
    folder: home,
    state,
    trial: createProfileTrial({ edge, folder: home, state, rollBackAfterMs: 600_000, pause: never, isStopping, log }),
    log,
    uptimeS: () => 1,
    bufferFigures: () => ({ batches: 0, samples: 0, bytes: 0, droppedSamples: 0 }),
    backoff: createBackoff({ baseMs: 1 }),
    pause,
    isStopping,
    reporter: { request: () => undefined, reportWhenDue: () => Promise.resolve() },
    ...(actions ? { actions } : {}),
  })
  return { runner, state, folder: home }
}

const finalOf = (reports: Record<string, unknown>[]) => reports.filter(({ status }) => status !== 'inProgress')

test('without a job, takeOne returns no job and no delay', async () => {
  const service = await startService([])
  const { runner } = await startRunner(service.baseUrl)
  expect(await runner.takeOne(0)).toEqual({ hasRun: false, waitMs: 0 })
})

test('rejects an unknown kind, also the name of an object property', async () => {
  const service = await startService([
    { id: 'a', kind: 'make_coffee' },
    { id: 'b', kind: 'constructor' },
  ])
  const { runner } = await startRunner(service.baseUrl)
  await runner.takeOne(0)
  await runner.takeOne(0)
  expect(service.sentReports().map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('reports a reboot only after the restart', async () => {
  const service = await startService([{ id: 'a', kind: 'reboot' }])
  const before = await startRunner(service.baseUrl)
  expect((await before.runner.takeOne(0)).restart).toEqual({ reason: 'job' })
  expect(finalOf(service.sentReports())).toEqual([])

  const after = await startRunner(service.baseUrl, before.folder)
  expect(after.state.read().restartReason).toBe('job')
  await after.runner.reportFinished()
  await after.runner.reportFinished()
  expect(finalOf(service.sentReports())).toEqual([{ attempt: 1, status: 'succeeded', detail: 'Restarted.' }])
})

test('reports a repeated attempt again without running it; runs the next attempt', async () => {
  const service = await startService([
    { id: 'a', kind: 'count' },
    { id: 'a', kind: 'count' },
    { id: 'a', kind: 'count', attempt: 2 },
  ])
  let done = 0
  const count: Action = async () => ({ status: 'succeeded', detail: `${++done}` })
  const { runner } = await startRunner(service.baseUrl, undefined, { count })
  for (let turn = 0; turn < 3; turn += 1) await runner.takeOne(0)
  expect(done).toBe(2)
  expect(finalOf(service.sentReports()).map(({ attempt, detail }) => [attempt, detail])).toEqual([
    [1, '1'],
    [1, '1'],
    [2, '2'],
  ])
})

test('keeps a result while the service does not respond, and reports it again', async () => {
  let refusals = 7
  const service = await startService([{ id: 'a', kind: 'speed_test' }], ({ status }) =>
    status === 'inProgress' || refusals-- <= 0 ? undefined : { status: 503 },
  )
  const { runner, folder } = await startRunner(service.baseUrl)
  await runner.takeOne(0)
  const restarted = await startRunner(service.baseUrl, folder)
  expect(restarted.state.read().jobs[0]?.reported).toBe(false)
  await restarted.runner.reportFinished()
  expect(restarted.state.read().jobs[0]?.reported).toBe(true)
  expect(new Set(finalOf(service.sentReports()).map((report) => JSON.stringify(report))).size).toBe(1)
})

test('reports a job as failed when the router crashed during it', async () => {
  const service = await startService([{ id: 'a', kind: 'hang' }])
  const begun = Promise.withResolvers<void>()
  const hang: Action = () => {
    begun.resolve()
    return new Promise(() => undefined)
  }
  const { runner, folder } = await startRunner(service.baseUrl, undefined, { hang })
  void runner.takeOne(0)
  await begun.promise
  const restarted = await startRunner(service.baseUrl, folder, { hang })
  await restarted.runner.reportFinished()
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'failed', attempt: 1 }])
})

test('does not start a cancelled job', async () => {
  const service = await startService([{ id: 'a', kind: 'reboot', cancelRequested: true }])
  const { runner } = await startRunner(service.baseUrl)
  expect((await runner.takeOne(0)).restart).toBeUndefined()
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'rejected' }])
})

test('does not start an attempt that the service refuses', async () => {
  const service = await startService([{ id: 'a', kind: 'reboot' }], () => ({ status: 409 }))
  const { runner } = await startRunner(service.baseUrl)
  expect((await runner.takeOne(0)).restart).toBeUndefined()
  expect(service.sentReports()).toHaveLength(1)
})

test('apply_config stores the pinned version in a file with mode 0600', async () => {
  const profile = { id: 'p-1', version: 3, settings: { wifi: { ssid: 'fleet', wifiPassword: 'hunter2' } } }
  const service = await startService([{ id: 'a', kind: 'apply_config', parameters: { profile } }])
  const { runner, state, folder } = await startRunner(service.baseUrl)
  await runner.takeOne(0)
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'succeeded' }])
  expect(state.read().profile).toEqual({ id: 'p-1', version: 3 })
  expect(JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'))).toEqual(profile)
  expect((await stat(join(folder, 'config.json'))).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'state.json'))).mode & 0o777).toBe(0o600)
})

const settings = { wifi: { ssid: 'fleet' } }

test.each([
  ['without a profile', {}],
  ['without an id', { profile: { version: 1, settings } }],
  ['without a version', { profile: { id: 'p-1', settings } }],
  ['with version 0', { profile: { id: 'p-1', version: 0, settings } }],
  ['without settings', { profile: { id: 'p-1', version: 1 } }],
  ['with empty settings', { profile: { id: 'p-1', version: 1, settings: {} } }],
])('apply_config %s is rejected and changes nothing', async (_, parameters) => {
  const service = await startService([{ id: 'a', kind: 'apply_config', parameters }])
  const { runner, state, folder } = await startRunner(service.baseUrl)
  await writeFile(join(folder, 'config.json'), 'present')
  await runner.takeOne(0)
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'rejected' }])
  expect(state.read().profile).toBeUndefined()
  expect(await readFile(join(folder, 'config.json'), 'utf8')).toBe('present')
})

const image = Buffer.alloc(300_000, 'firmware')
const imageAnswer = (): PeerAnswer => ({
  status: 200,
  raw: image,
  headers: { 'content-length': `${image.byteLength}` },
})

test('firmware is downloaded with progress, verified, staged, and active after the restart', async () => {
  const job: Record<string, unknown> = { id: 'a', kind: 'firmware_update' }
  const service = await startService([job], undefined, imageAnswer)
  job.parameters = {
    version: '2.0.0',
    url: `${service.baseUrl}/image`,
    sha256: sha256(image),
    sizeBytes: image.byteLength,
  }
  const { runner, folder } = await startRunner(service.baseUrl)
  expect((await runner.takeOne(0)).restart).toEqual({ reason: 'firmware_update' })
  const percents = service.sentReports().map(({ progress }) => Number(progress))
  expect(percents.length).toBeGreaterThan(2)
  expect(percents).toEqual([...percents].sort((a, b) => a - b))
  expect(await readFile(join(folder, 'firmware', 'staged.image'))).toEqual(image)

  const after = await startRunner(service.baseUrl, folder)
  expect(after.state.read().firmware).toBe('2.0.0')
  await after.runner.reportFinished()
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'succeeded' }])
})

test.each([
  ['another SHA-256', { sha256: '0'.repeat(64) }, imageAnswer],
  ['more bytes than announced', { sizeBytes: 1_000 }, imageAnswer],
  ['fewer bytes than announced', { sizeBytes: 400_000 }, imageAnswer],
  ['a server that has no image', {}, (): PeerAnswer => ({ status: 404 })],
  ['a connection cut', {}, (): PeerAnswer => 'cut'],
  ['a URL of another scheme', { url: 'file:///etc/passwd' }, imageAnswer],
])('firmware with %s fails and nothing is staged', async (_, wrong, answer) => {
  const job: Record<string, unknown> = { id: 'a', kind: 'firmware_update' }
  const service = await startService([job], undefined, answer)
  job.parameters = { version: '2.0.0', url: `${service.baseUrl}/image`, sha256: sha256(image), ...wrong }
  const { runner, state, folder } = await startRunner(service.baseUrl)
  expect((await runner.takeOne(0)).restart).toBeUndefined()
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'failed' }])
  expect(state.read().firmware).toBe('1.0.0')
  expect(await readdir(join(folder, 'firmware')).catch(() => [])).toEqual([])
})

test('a cancelled firmware download has no effect', async () => {
  const job: Record<string, unknown> = { id: 'a', kind: 'firmware_update' }
  const cancelRequested = true
  const service = await startService(
    [job],
    ({ status, progress }) =>
      status === 'inProgress' && Number(progress) > 0 ? { status: 200, body: { status, cancelRequested } } : undefined,
    imageAnswer,
  )
  job.parameters = { version: '2.0.0', url: `${service.baseUrl}/image`, sha256: sha256(image) }
  const { runner, folder } = await startRunner(service.baseUrl)
  expect((await runner.takeOne(0)).restart).toBeUndefined()
  expect(finalOf(service.sentReports())).toMatchObject([{ status: 'failed' }])
  expect(await readdir(join(folder, 'firmware'))).toEqual([])
})

test.each([
  ['collect_diagnostics', { firmware: '1.0.0', profileVersion: null, samplesWaiting: 0 }],
  ['speed_test', { latencyMs: expect.any(Number), downloadMbps: expect.any(Number) }],
])('%s runs and reports its result', async (kind, result) => {
  const service = await startService([{ id: 'a', kind }])
  const { runner } = await startRunner(service.baseUrl)
  await runner.takeOne(0)
  const [report] = finalOf(service.sentReports())
  expect(report?.status).toBe('succeeded')
  expect(report?.detail).toMatchObject(result)
})

test.each([
  ['cannot be read', (file: string) => mkdir(file)],
  ['is empty', (file: string) => writeFile(file, '')],
])('a state file that %s is not replaced by a new one', async (_, write) => {
  const folder = await mkdtemp(join(tmpdir(), 'job-runner-'))
  cleanUp.push(() => rm(folder, { recursive: true }))
  await write(join(folder, 'state.json'))
  await expect(openStateFile(folder, '1.0.0')).rejects.toThrow()
  expect(await readdir(folder)).toEqual(['state.json'])
})
