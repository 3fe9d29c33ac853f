import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent as ConnectionPool } from 'undici'
import { afterEach, expect, test } from 'vitest'
import { accepted, type EdgePeer, enrolled, type PeerAnswer, type Received, startEdgePeer } from '#test/edge-peer'
import { type Agent, type AgentEnd, createAgent } from './agent.ts'
import { createEdgeClient } from './edge-client.ts'
import type { Sample } from './sample.ts'
import { openSampleBuffer } from './sample-buffer.ts'
import { openStateFile } from './state-file.ts'

const cleanUp: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step()
})

type Router = { agent: Agent; ended: Promise<AgentEnd>; take: (count: number) => void; events: string[] }

type Differences = { localEdgeUrl?: string; clock?: () => number; persist?: () => Promise<void> }

/** A router over a folder; `take` makes samples numbered on from the last, as its sensors would. */
async function startRouter(
  baseUrl: string,
  folder: string,
  { localEdgeUrl, clock = Date.now, ...differences }: Differences = {},
): Promise<Router> {
  const pool = new ConnectionPool({ connections: 4 })
  const events: string[] = []
  let waiting: Sample[] = []
  let taken = 0
  const agent = createAgent({
    connect: (signal) => createEdgeClient({ baseUrl, localEdgeUrl, dispatcher: pool, signal }),
    enrollment: { enrollmentKey: 'fle_test', serial: 'S-1', model: 'router' },
    folder,
    state: await openStateFile(folder, '1.0.0'),
    buffer: { ...(await openSampleBuffer(join(folder, 'buffer'))), ...differences },
    source: { collect: () => waiting.splice(0), isLinkUp: () => true, isExhausted: () => false },
    clock,
    random: () => 0,
    log: (event) => events.push(event),
    bootedAtMs: Date.now(),
    reportEveryMs: 20,
    longPollSeconds: 0,
    rollBackAfterMs: 600_000,
  })
  const ended = agent.run()
  cleanUp.push(async () => {
    agent.stop()
    await ended
    await pool.destroy()
  })
  return {
    agent,
    ended,
    events,
    take: (count) => {
      waiting = [...waiting, ...Array.from({ length: count }, () => ({ ts: ++taken, kind: 'system' as const }))]
    },
  }
}

async function startPeer(answer: (request: Received) => PeerAnswer | Promise<PeerAnswer>): Promise<EdgePeer> {
  const peer = await startEdgePeer((request) => (request.path === '/device/enroll' ? enrolled : answer(request)))
  cleanUp.push(peer.close)
  return peer
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-'))
  cleanUp.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const timesOf = (report: { samples: Record<string, unknown>[] }) => report.samples.map(({ ts }) => ts)

/** The times of each batch. A router that stops before it has read the response repeats the batch, with the same id. */
const batchesOf = (peer: EdgePeer) => [
  ...new Map(peer.reports().map((report) => [report.header.batchId, timesOf(report)])).values(),
]

test('enrolls once, keeps its token, and reports gzipped NDJSON with sentAt and batchId', async () => {
  const peer = await startPeer(() => accepted())
  const folder = await newFolder()
  const router = await startRouter(peer.baseUrl, folder)
  router.take(3)
  await expect.poll(() => batchesOf(peer)).toEqual([[1, 2, 3]])
  router.agent.stop()
  await router.ended
  const again = await startRouter(peer.baseUrl, folder)
  again.take(1)
  await expect.poll(() => batchesOf(peer)).toEqual([[1, 2, 3], [1]])

  expect(peer.received.filter(({ path }) => path === '/device/enroll')).toHaveLength(1)
  const [report] = peer.reports()
  expect(Math.abs((report?.header.sentAt ?? 0) - (report?.atMs ?? 0))).toBeLessThan(2_000)
  expect(report?.header.batchId).toMatch(/^[0-9a-f-]{36}$/)
  const { headers } = peer.received.find(({ path }) => path === '/telemetry') ?? { headers: {} }
  expect(headers).toMatchObject({
    authorization: 'Bearer fld_test',
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
  })
})

test('repeats an enrollment whose response was lost with the same nonce, also after a restart and with an empty token', async () => {
  const answers: PeerAnswer[] = ['cut', { status: 201, body: { deviceId: 'd-1', token: '' } }]
  const peer = await startEdgePeer(({ path }) =>
    path === '/device/enroll' ? (answers.shift() ?? enrolled) : accepted(),
  )
  cleanUp.push(peer.close)
  const folder = await newFolder()
  const nonces = () =>
    peer.received.filter(({ path }) => path === '/device/enroll').map(({ body }) => JSON.parse(body).nonce as unknown)
  const router = await startRouter(peer.baseUrl, folder)
  await expect.poll(() => nonces().length).toBeGreaterThan(0)
  router.agent.stop()
  await router.ended
  const file = join(folder, 'state.json')
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), token: '' }))
  const again = await startRouter(peer.baseUrl, folder)
  again.take(1)
  await expect.poll(() => peer.reports(), { timeout: 30_000 }).toHaveLength(1)

  expect(nonces().length).toBeGreaterThanOrEqual(2)
  expect(new Set(nonces()).size).toBe(1)
  expect(nonces()[0]).toMatch(/^[0-9a-f]{32}$/)
}, 60_000)

test('sends telemetry without compression to an edge on the same machine, and everything else to the service', async () => {
  const [service, edge] = [await startPeer(() => accepted()), await startPeer(() => accepted())]
  const router = await startRouter(service.baseUrl, await newFolder(), { localEdgeUrl: edge.baseUrl })
  router.take(2)
  await expect.poll(() => edge.reports()).toHaveLength(1)

  expect(edge.reports().flatMap(timesOf)).toEqual([1, 2])
  expect(edge.received.map(({ path, headers }) => [path, headers['content-encoding']])).toEqual([
    ['/telemetry', undefined],
  ])
  expect(service.received.map(({ path }) => path)).not.toContain('/telemetry')
  expect(service.received.map(({ path }) => path)).toContain('/device/enroll')
})

test('with lost connections, 503 and 500, every sample arrives in order and batches keep their ids', async () => {
  const failures: PeerAnswer[] = ['cut', { status: 503 }, { status: 500 }]
  const peer = await startPeer(() => failures.shift() ?? accepted())
  const router = await startRouter(peer.baseUrl, await newFolder())
  router.take(2_500)
  await expect.poll(() => peer.reports(), { timeout: 25_000, interval: 50 }).toHaveLength(3 + 3)

  const reports = peer.reports()
  expect(new Set(reports.slice(0, 4).map(({ header }) => header.batchId)).size).toBe(1)
  expect(reports.slice(3).flatMap(timesOf)).toEqual(Array.from({ length: 2_500 }, (_, index) => index + 1))
  expect(Math.max(...reports.map(({ samples }) => samples.length))).toBe(1_000)
  const waits = reports.slice(1, 4).map(({ atMs }, index) => atMs - (reports[index]?.atMs ?? 0))
  for (const [failure, waitMs] of waits.entries()) expect(waitMs).toBeGreaterThanOrEqual(500 * 2 ** failure - 30)
})

test('without space on the flash, samples wait in memory and arrive when the service takes them', async () => {
  let refusals = 2
  const peer = await startPeer(() => (refusals-- > 0 ? { status: 503 } : accepted()))
  const persist = () => Promise.reject(new Error('ENOSPC: no space left on device'))
  const router = await startRouter(peer.baseUrl, await newFolder(), { persist })
  router.take(3)
  await expect.poll(() => batchesOf(peer)).toEqual([[1, 2, 3]])
  router.agent.stop()
  expect(await router.ended).toEqual({ kind: 'stopped' })
  expect(router.events).toContain('buffer_not_written')
})

test('reports go on when the clock is set back', async () => {
  const peer = await startPeer(() => accepted())
  let aheadMs = 7_200_000
  const router = await startRouter(peer.baseUrl, await newFolder(), { clock: () => Date.now() + aheadMs })
  router.take(1)
  await expect.poll(() => batchesOf(peer)).toEqual([[1]])
  aheadMs = 0
  router.take(1)
  await expect.poll(() => batchesOf(peer), { timeout: 5_000 }).toEqual([[1], [2]])
})

test('waits for the time in Retry-After', async () => {
  const answers: PeerAnswer[] = [{ status: 429, headers: { 'retry-after': '2' } }]
  const peer = await startPeer(() => answers.shift() ?? accepted())
  const router = await startRouter(peer.baseUrl, await newFolder())
  router.take(1)
  await expect.poll(() => peer.reports(), { timeout: 10_000 }).toHaveLength(2)
  const [first, second] = peer.reports()
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1_950)
})

test('does not send rejected samples again', async () => {
  const rejected = [{ index: 0, code: 'ts_out_of_range', detail: '' }]
  const peer = await startPeer(() => accepted({ accepted: 1, rejected }))
  const router = await startRouter(peer.baseUrl, await newFolder())
  router.take(2)
  await expect.poll(() => peer.reports()).toHaveLength(1)
  router.take(1)
  await expect.poll(() => peer.reports()).toHaveLength(2)
  expect(peer.reports().map(timesOf)).toEqual([[1, 2], [3]])
  expect(router.events).toContain('samples_rejected')
})

test('halves a batch after 413 until it fits, and keeps the order', async () => {
  const lines = ({ body }: Received) => body.trim().split('\n').length - 1
  const peer = await startPeer((request) => (lines(request) > 30 ? { status: 413 } : accepted()))
  const router = await startRouter(peer.baseUrl, await newFolder())
  router.take(100)
  await expect.poll(() => router.events.filter((event) => event === 'batch_halved')).toHaveLength(3)
  const taken = () => peer.reports().filter(({ samples }) => samples.length <= 30)
  await expect.poll(() => taken().flatMap(timesOf)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
})

test('drops an undecodable batch and sends the following ones', async () => {
  const answers: PeerAnswer[] = [{ status: 400 }]
  const peer = await startPeer(() => answers.shift() ?? accepted())
  const router = await startRouter(peer.baseUrl, await newFolder())
  router.take(1)
  await expect.poll(() => router.events).toContain('batch_dropped')
  router.take(1)
  await expect.poll(() => peer.reports().map(timesOf)).toEqual([[1], [2]])
})

test.each([401, 403])('after %i it logs the refusal, retries slowly and keeps its samples on disk', async (status) => {
  const peer = await startPeer(() => ({ status }))
  const folder = await newFolder()
  const router = await startRouter(peer.baseUrl, folder)
  router.take(5)
  await expect.poll(() => router.events).toContain('telemetry_refused')
  router.take(5)
  router.agent.stop()
  await router.ended
  expect(peer.reports()).toHaveLength(1)
  expect((await openSampleBuffer(join(folder, 'buffer'))).figures().samples).toBeGreaterThanOrEqual(5)
})

test('a stop during a request loses no samples', async () => {
  const peer = await startPeer(() => new Promise<PeerAnswer>(() => undefined))
  const folder = await newFolder()
  const router = await startRouter(peer.baseUrl, folder)
  router.take(7)
  await expect.poll(() => peer.reports()).toHaveLength(1)
  router.agent.stop()
  expect(await router.ended).toEqual({ kind: 'stopped' })
  expect((await openSampleBuffer(join(folder, 'buffer'))).figures().samples).toBe(7)
})
