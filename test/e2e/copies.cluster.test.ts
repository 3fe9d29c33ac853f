import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import { ensureAccess } from '#fleet/access/bootstrap'
import { type OwnedPool, openPool } from '#postgres/pool'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { deviceCalls, workerEnvironment } from '#test/job-service'
import { questdbConnection } from '#test/questdb'
import { hasRedis, startRedis, type TestRedis } from '#test/redis'
import { newReportingDevices } from '#test/reporting-device'
import { until } from '#test/until'

/** Node's option that sets the clock of a process 90 s ahead. */
const clockAhead = `--import data:text/javascript,${encodeURIComponent('const now=Date.now;Date.now=()=>now()+90000')}`

const problem = (await hasRedis()) ? undefined : 'redis-server is not on the PATH'

describe('two copies of each app on one Postgres and one Redis', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let redis: TestRedis
  let database: TestDatabase
  let pool: OwnedPool
  let folder: string
  let adminKey: string
  let edges: IngestProcess[] = []
  let workers: AppProcess[] = []
  let planes: AppProcess[] = []

  beforeAll(async () => {
    if (problem) return
    redis = await startRedis()
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'test' })
    folder = await mkdtemp(join(tmpdir(), 'routerfleet-copies-'))
    adminKey = (await ensureAccess({ pool }, { demo: false })).adminKey
    const questdb = questdbConnection()
    const environment = workerEnvironment(database.url, redis.url)
    const twice = <Copy>(start: (index: number) => Promise<Copy>) => Promise.all([0, 1].map(start))
    edges = await twice((index) =>
      startIngestProcess({
        postgresUrl: database.url,
        questdb,
        logDir: join(folder, String(index)),
        environment: { REDIS_URL: redis.url },
      }),
    )
    workers = await twice((index) =>
      startAppProcess('apps/worker/main.ts', { ...environment, ...(index === 1 && { NODE_OPTIONS: clockAhead }) }),
    )
    planes = await twice(() => startAppProcess('apps/control-plane/main.ts', planeEnvironment()))
  }, 180_000)
  afterAll(async () => {
    await Promise.all([...planes, ...workers].map((copy) => copy.stop()))
    await Promise.all(edges.map((edge) => edge.end('SIGTERM')))
    await redis?.stop()
    await pool?.end()
    await database?.drop()
    if (folder) await rm(folder, { recursive: true, force: true })
  }, 120_000)

  const planeEnvironment = () => ({
    ...workerEnvironment(database.url, redis.url),
    QUESTDB_URL: questdbConnection().httpUrl,
    INGEST_URL: edges.map(({ url }) => url).join(','),
    TRUSTED_PROXY_HOPS: '1',
    PUBLIC_BASE_URL: 'http://routerfleet.test',
  })

  /** Calls one copy of the control plane. */
  async function call(copy: 0 | 1, method: string, path: string, options: CallOptions = {}) {
    const { key = adminKey, json, headers = {} } = options
    const answer = await fetch(`${planes[copy]?.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  type CallOptions = { key?: string; json?: unknown; headers?: Record<string, string> }

  async function newOrganization(): Promise<{ id: string; key: string; keyId: string }> {
    const { id } = (await call(0, 'POST', '/orgs', { json: { name: 'Ferries', plan: 'pro' } })).body
    const created = await call(0, 'POST', `/orgs/${id}/api-keys`, { json: { name: 'test', role: 'admin' } })
    return { id, key: created.body.key, keyId: created.body.id }
  }

  test('requests to both copies count for one limit', async () => {
    const { key } = await newOrganization()
    const remaining = async (copy: 0 | 1) => {
      const { headers } = await call(copy, 'GET', '/devices', { key })
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    const first = await remaining(0)
    expect([await remaining(1), await remaining(0), await remaining(1)]).toEqual([first - 1, first - 2, first - 3])
  })

  test('failed authentications of an address at both copies of ingest count together', async () => {
    const attempt = (copy: 0 | 1) =>
      fetch(`${edges[copy]?.url}/device/config`, {
        headers: { authorization: `Bearer ${issueToken('fld').token}`, 'x-forwarded-for': '192.0.2.77' },
      }).then(({ status }) => status)
    for (let round = 0; round < 60; round++) expect([await attempt(0), await attempt(1)]).toEqual([401, 401])
    expect([await attempt(0), await attempt(1)]).toEqual([429, 429])
  })

  test('a key that is revoked at one copy is refused by the other', async () => {
    const { id, key, keyId } = await newOrganization()
    expect((await call(1, 'GET', '/devices', { key })).status).toBe(200)
    expect((await call(0, 'DELETE', `/orgs/${id}/api-keys/${keyId}`)).status).toBe(204)
    await until(
      'the other copy refuses it',
      async () => (await call(1, 'GET', '/devices', { key })).status === 401,
      5_000,
    )
  })

  test('a request is repeated at another copy with the same Idempotency-Key', async () => {
    const { id, key } = await newOrganization()
    const request = {
      key,
      json: { organizationId: id, serial: 'SN-1', name: 'Ferry', model: 'RX400' },
      headers: { 'idempotency-key': 'first-ferry' },
    }
    const first = await call(0, 'POST', '/devices', request)
    const again = await call(1, 'POST', '/devices', request)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.body.id).toBe(first.body.id)
  })

  test('a router that waits at either copy of ingest gets a job that either copy creates', async () => {
    const { id } = await newOrganization()
    const devices = await newReportingDevices(pool, id, 2)
    for (const [copy, device] of devices.entries()) {
      const waiting = deviceCalls(edges[copy]?.url ?? '', device.token).next(50)
      await until('the router waits', async () => (await waitingAt(copy)) === 1)
      const creator = copy === 0 ? 1 : 0
      const created = await call(creator, 'POST', `/devices/${device.id}/jobs`, { json: { kind: 'reboot' } })
      expect(created.status).toBe(202)
      const { status, body } = await waiting
      expect([status, body.id]).toEqual([200, created.body.id])
    }
  })

  test('a control plane that stops sends waiting routers away', async () => {
    const third = await startAppProcess('apps/control-plane/main.ts', planeEnvironment())
    const { id } = await newOrganization()
    const [device] = await newReportingDevices(pool, id, 1)
    const waiting = deviceCalls(third.url, device?.token ?? '').next(50)
    await until('the router waits', async () => (await waitingAt(0)) + (await waitingAt(1)) === 1)
    const stopped = third.stop()
    expect((await waiting).status).toBe(204)
    await stopped
  })

  async function waitingAt(copy: number): Promise<number> {
    const text = await (await fetch(`${edges[copy]?.url}/metrics`)).text()
    return Number(/^job_channel_waiting_devices (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
  }

  test('a worker whose clock is 90 s ahead does not expire jobs early', async () => {
    const { id } = await newOrganization()
    const [device] = await newReportingDevices(pool, id, 1)
    const path = `/devices/${device?.id}/jobs`
    const created = await call(0, 'POST', path, { json: { kind: 'reboot', expiresInSeconds: 60 } })
    const before = await expiryRuns()
    // The first of these runs can have begun before the job was created.
    await until('it looks for expired jobs', async () => (await expiryRuns()) >= before + 2)
    const job = await call(0, 'GET', `/orgs/${id}/jobs/${created.body.id}`)
    expect(['queued', 'dispatched']).toContain(job.body.status)
  })

  /** How often the worker whose clock is ahead has looked for expired jobs. */
  async function expiryRuns(): Promise<number> {
    const text = await (await fetch(`${workers[1]?.url}/metrics`)).text()
    const pattern = /^periodic_task_runs_total\{task="expire_jobs",outcome="done"\} (\d+)$/m
    return Number(pattern.exec(text)?.[1] ?? 0)
  }

  test('a stream continues at another copy', async () => {
    const { id, key } = await newOrganization()
    const json = { organizationId: id, serial: 'SN-1', name: 'Ferry', model: 'RX400' }
    const { body: device } = await call(0, 'POST', '/devices', { json })
    const first = await openStream(0, key)
    const snapshot = await first.next()
    expect(snapshot).toMatchObject({ event: 'snapshot', data: { devices: [{ deviceId: device.id }] } })
    const deleted = await call(1, 'DELETE', `/devices/${device.id}`)
    expect(deleted.status).toBe(204)
    await first.close()
    const second = await openStream(1, key, snapshot.id)
    const { event, data } = await second.next()
    expect([event, data.gone]).toEqual(['delta', [device.id]])
    await second.close()
  })

  /** Opens a stream of fleet GPS. `next` reads an event that fits into one chunk. */
  async function openStream(copy: 0 | 1, key: string, lastEventId?: string) {
    const abort = new AbortController()
    const answer = await fetch(`${planes[copy]?.url}/fleet/gps/stream?include=devices`, {
      headers: { authorization: `Bearer ${key}`, ...(lastEventId && { 'last-event-id': lastEventId }) },
      signal: abort.signal,
    })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    return {
      async next() {
        let text = ''
        while (!text.endsWith('\n\n') || text.startsWith(':')) {
          const { value, done = true } = (await reader?.read()) ?? {}
          if (done) throw new Error(`The stream ended: ${text}`)
          text = text.startsWith(':') ? (value ?? '') : text + value
        }
        const [, event, id, data = 'null'] = /^event: (\w+)\nid: (\S+)\ndata: (.*)\n\n$/.exec(text) ?? []
        return { event, id, data: JSON.parse(data) }
      },
      close: async () => abort.abort(),
    }
  }
})
