import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest'
import { ensureAccess } from '#fleet/access/bootstrap'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { type OwnedPool, openPool } from '#postgres/pool'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { workerEnvironment } from '#test/job-service'
import { questdbConnection } from '#test/questdb'
import { hasRedis } from '#test/redis'
import { startRedisCluster, type TestRedisCluster } from '#test/redis-cluster'
import { until } from '#test/until'

const problem = (await hasRedis()) ? undefined : 'redis-server is not on the PATH'
const waitMs = 90_000
const devices = 40

describe('queues and rate limits in a Redis Cluster', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  let redis: TestRedisCluster
  let database: TestDatabase
  let pool: OwnedPool
  let adminKey: string
  let workers: AppProcess[] = []
  let planes: AppProcess[] = []

  beforeAll(async () => {
    if (problem) return
    redis = await startRedisCluster()
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'test' })
    adminKey = (await ensureAccess({ pool }, { demo: false })).adminKey
    const environment = { ...workerEnvironment(database.url, redis.url), QUESTDB_URL: questdbConnection().httpUrl }
    workers = await Promise.all([0, 1].map(() => startAppProcess('apps/worker/main.ts', environment)))
    planes = await Promise.all(
      [0, 1].map(() =>
        startAppProcess('apps/control-plane/main.ts', {
          ...environment,
          // No device sends anything here.
          INGEST_URL: 'http://127.0.0.1:9',
          PUBLIC_BASE_URL: 'http://routerfleet.test',
        }),
      ),
    )
  }, 240_000)
  afterAll(async () => {
    await Promise.all([...planes, ...workers].map((copy) => copy.stop()))
    await redis?.stop()
    await pool?.end()
    await database?.drop()
  }, 120_000)

  async function call(copy: number, method: string, path: string, key: string, json?: unknown) {
    const answer = await fetch(`${planes[copy]?.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    return { headers: answer.headers, body: (await answer.json()) as { id: string; key: string } }
  }

  async function newKey(): Promise<string> {
    const { id } = (await call(0, 'POST', '/orgs', adminKey, { name: 'Ferries', plan: 'pro' })).body
    const json = { name: 'test', role: 'admin' }
    return (await call(0, 'POST', `/orgs/${id}/api-keys`, adminKey, json)).body.key
  }

  async function remaining(copy: number, key: string): Promise<number> {
    const { headers } = await call(copy, 'GET', '/devices', key)
    return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
  }

  /** Returns whether requests of an organization to both control planes count together. */
  async function isShared(key: string): Promise<boolean> {
    const first = await remaining(0, key)
    return (await remaining(1, key)) === first - 1 && (await remaining(0, key)) === first - 2
  }

  const allShared = async (keys: readonly string[]) => (await Promise.all(keys.map(isShared))).every((isSo) => isSo)

  async function startBatch({ ctx, organizationId, groupId }: JobFleet): Promise<string> {
    const { id } = await createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId } })
    return id
  }

  const isDispatched = async ({ ctx, organizationId }: JobFleet, batchId: string) =>
    (await getBatch(ctx, { organizationId, batchId })).counts.dispatched === devices

  test('jobs are dispatched and limits are shared, also after a primary of each was killed', async () => {
    onTestFailed(() => {
      for (const { url, output } of [...workers, ...planes]) console.error(url, output().slice(-2_000))
    })
    const fleet = await createJobFleet(pool, devices)
    const before = await startBatch(fleet)
    await until('the jobs are dispatched', () => isDispatched(fleet, before), waitMs)
    // So many that each primary has some of their limits.
    const keys = await Promise.all(Array.from({ length: 12 }, newKey))
    await until('the limits are shared', () => allShared(keys), waitMs)

    for (const queue of ['batch', 'dispatch']) {
      const next = await createJobFleet(pool, devices)
      const mark = `{routerfleet-${queue}}:filled`
      const marked = await redis.get(mark)
      expect(marked).toHaveLength(40)
      const killed = redis.killPrimaryOf(`{routerfleet-${queue}}:meta`)
      const during = await startBatch(next)
      await killed
      await until('the jobs are dispatched again', () => isDispatched(next, during), waitMs)
      await until(
        'a worker has noticed the failover',
        async () => !['', marked].includes(await redis.get(mark)),
        waitMs,
      )
      const later = await createJobFleet(pool, devices)
      const after = await startBatch(later)
      await until('later jobs are dispatched', () => isDispatched(later, after), waitMs)
      await until('the limits are shared again', () => allShared(keys), waitMs)
    }
    for (const { url, output } of [...workers, ...planes]) {
      expect((await fetch(`${url}/livez`)).ok).toBe(true)
      expect(output()).not.toContain('CROSSSLOT')
    }
  }, 400_000)
})
