import { expect, onTestFinished, test } from 'vitest'
import { ensureAccess } from '#fleet/access/bootstrap'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { createDeviceJob } from '#fleet/jobs/device-job'
import { getJob } from '#fleet/jobs/read'
import { openPool } from '#postgres/pool'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { workerEnvironment } from '#test/job-service'
import { questdbConnection } from '#test/questdb'
import { hasRedis } from '#test/redis'
import { startRedisCluster, type TestRedisCluster } from '#test/redis-cluster'
import { until } from '#test/until'

const problem = (await hasRedis()) ? undefined : 'redis-server is not on the PATH'
/** Jobs that a former primary accepted before it knew its successor are offered again after up to 90 s. */
const waitMs = 150_000
const stopLimitMs = 120_000
const devices = 40

/**
 * Two workers and two control planes on a new cluster; some of them connect over TLS. Each attempt has its own, because a
 * second failover of the same shard is impossible. The output of a failed attempt has the state of its nodes and processes.
 */
async function startScene() {
  const redis = await startRedisCluster()
  onTestFinished(redis.stop, stopLimitMs)
  const database = await createTestDatabase()
  onTestFinished(database.drop, stopLimitMs)
  const pool = openPool(database.url, { applicationName: 'test' })
  onTestFinished(() => pool.end(), stopLimitMs)
  const { adminKey } = await ensureAccess({ pool }, { demo: false })
  const start = async (script: string, redisUrl: string) => {
    const app = await startAppProcess(script, {
      ...workerEnvironment(database.url, redisUrl),
      NODE_EXTRA_CA_CERTS: redis.caFile,
      QUESTDB_URL: questdbConnection().httpUrl,
      // No device sends anything here.
      INGEST_URL: 'http://127.0.0.1:9',
      PUBLIC_BASE_URL: 'http://routerfleet.test',
    })
    onTestFinished(app.stop, stopLimitMs)
    return app
  }
  const both = [redis.url, redis.tlsUrl]
  const [workers, planes] = await Promise.all([
    Promise.all(both.map((url) => start('apps/worker/main.ts', url))),
    Promise.all(both.map((url) => start('apps/control-plane/main.ts', url))),
  ])
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') await explain(redis, workers, planes)
  }, stopLimitMs)
  return { redis, pool, adminKey, workers, planes }
}

async function explain(redis: TestRedisCluster, workers: AppProcess[], planes: AppProcess[]): Promise<void> {
  const unknown = (error: unknown) => String(error)
  console.error(await redis.nodes().catch(unknown))
  for (const { url, output } of [...workers, ...planes]) {
    const metrics = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5_000) }).then(
      (answer) => answer.text(),
      unknown,
    )
    const ofQueues = metrics.split('\n').filter((line) => /^(queue_(entries|workers)|periodic_task_runs)/.test(line))
    console.error(url, ofQueues.join('\n'), output().slice(-4_000))
  }
}

/** How the control planes limit the requests of organizations. */
function limitsOf(planes: AppProcess[], adminKey: string) {
  async function call(copy: number, method: string, path: string, key: string, json?: unknown) {
    const answer = await fetch(`${planes[copy]?.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    return { headers: answer.headers, body: (await answer.json()) as { id: string; key: string } }
  }
  async function remaining(copy: number, key: string): Promise<number> {
    const { headers } = await call(copy, 'GET', '/devices', key)
    return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
  }
  return {
    async newKey(): Promise<string> {
      const { id } = (await call(0, 'POST', '/orgs', adminKey, { name: 'Ferries', plan: 'enterprise' })).body
      const json = { name: 'test', role: 'admin' }
      return (await call(0, 'POST', `/orgs/${id}/api-keys`, adminKey, json)).body.key
    },
    /** Returns whether requests of an organization to both control planes count together. */
    async areShared(key: string): Promise<boolean> {
      const first = await remaining(0, key)
      return (await remaining(1, key)) === first - 1 && (await remaining(0, key)) === first - 2
    },
  }
}

test('jobs are dispatched and limits are shared, also after primaries were suspended and killed', async ({ skip }) => {
  skip(problem !== undefined, problem)
  const { redis, pool, adminKey, workers, planes } = await startScene()
  const limits = limitsOf(planes, adminKey)

  /** Creates a batch of jobs, which uses the queue of batches, and a single job, which uses that of single jobs. */
  async function createJobs(when: string) {
    const { ctx, organizationId, groupId } = await createJobFleet(pool, devices)
    const [deviceId = ''] = (await createJobFleet(pool, 1)).deviceIds
    const single = await createDeviceJob(ctx, { deviceId, kind: 'speed_test' })
    const { id: batchId } = await createBatch(ctx, { organizationId, kind: 'speed_test', target: { groupId } })
    const isBatchDispatched = async () =>
      (await getBatch(ctx, { organizationId, batchId })).counts.dispatched === devices
    const isDispatched = async () =>
      (await getJob(ctx, { organizationId: single.organizationId, jobId: single.id })).status === 'dispatched'
    return {
      async dispatched() {
        await until(`the batch of jobs created ${when} is dispatched`, isBatchDispatched, waitMs)
        await until(`the single job created ${when} is dispatched`, isDispatched, waitMs)
      },
    }
  }
  await (await createJobs('at the start')).dispatched()
  // So many that each primary has some of their limits.
  const keys = await Promise.all(Array.from({ length: 12 }, limits.newKey))
  const untilShared = (when: string) =>
    Promise.all(keys.map((key) => until(`limits are shared ${when}`, () => limits.areShared(key), waitMs)))
  await untilShared('at the start')

  const failovers = [
    { queue: 'batch', how: 'suspended', failOver: redis.freezePrimaryOf },
    { queue: 'dispatch', how: 'killed', failOver: redis.killPrimaryOf },
  ]
  for (const { queue, how, failOver } of failovers) {
    const mark = `{routerfleet-${queue}}:filled`
    const marked = await until(`${mark} is set`, async () => (await redis.get(mark)) || undefined, waitMs)
    const failedOver = failOver(mark)
    const during = await createJobs(`while a primary was ${how}`)
    await failedOver
    await during.dispatched()
    await until(
      `a worker has noticed that a primary was ${how}`,
      async () => !['', marked].includes(await redis.get(mark)),
      waitMs,
    )
    await (await createJobs(`after a primary was ${how}`)).dispatched()
    await untilShared(`after a primary was ${how}`)
  }
  for (const { url, output } of [...workers, ...planes]) {
    expect((await fetch(`${url}/livez`)).ok).toBe(true)
    expect(output()).not.toContain('CROSSSLOT')
  }
}, 600_000)
