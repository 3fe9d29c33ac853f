import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import type { Pool } from '#postgres/pool'
import { openQueueBackend } from '#queue/backend'
import { openJobQueues } from '#queue/job-queues'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { hasRedis, startRedis, type TestRedis } from '#test/redis'
import { until } from '#test/until'
import { startWorkerProcess } from '#test/worker-process'
import { startPacedCalls } from './paced-calls.ts'
import { type BenchPostgres, openBenchPostgres } from './postgres.ts'
import type { Bench, Figure } from './report.ts'
import { median, medianRatio, percentile, shown } from './statistics.ts'

const masterSecret = 'a master secret for benchmarks only'

/** The environment of a run: a served API, and a group with explicit and smart tag members. */
type Scene = { postgres: BenchPostgres; pool: Pool; api: AppProcess; key: string; fleet: JobFleet; members: number }

/** Rebooting a large group: the response time, and the effect on other callers during the dispatch. */
export const groupDispatch: Bench = {
  name: 'group-dispatch',
  about:
    'POST of a group job, compared with a plain INSERT … SELECT of the same number of jobs; then its dispatch, during other calls.',
  async run({ quick }) {
    const members = quick ? 10_000 : 100_000
    const postgres = await openBenchPostgres()
    const scene = await openScene(postgres, members)
    try {
      const figures = await measurePost(scene, quick ? 3 : 7)
      if (await hasRedis()) figures.push(...(await measureDispatch(scene, 'Redis', quick)))
      else figures.push({ name: 'dispatch on Redis', value: 'skipped: redis-server is not installed' })
      return [...figures, ...(await measureDispatch(scene, 'Postgres', quick))]
    } finally {
      await scene.api.stop()
      await postgres.close()
    }
  },
}

async function openScene(postgres: BenchPostgres, members: number): Promise<Scene> {
  const { pool, url } = postgres
  const fleet = await createJobFleet(pool, members)
  await pool.query(`UPDATE device_group SET smart_tags = '{vehicle}' WHERE id = $1`, [fleet.groupId])
  await pool.query(`UPDATE device SET tags = '{vehicle}' WHERE organization_id = $1`, [fleet.organizationId])
  await pool.query('VACUUM ANALYZE device, device_group_member')
  const { id, hash, token } = issueToken('flk')
  await pool.query(
    "INSERT INTO api_key (id, name, token_hash, platform, created_by) VALUES ($1, 'bench', $2, true, 'bench')",
    [id, hash],
  )
  const api = await startAppProcess('apps/control-plane/main.ts', {
    POSTGRES_URL: url,
    QUESTDB_URL: nobodyThere,
    QUESTDB_PG_URL: 'postgresql://127.0.0.1:9/none',
    INGEST_URL: nobodyThere,
    CONFIG_SECRETS_KEY: masterSecret,
    LOG_LEVEL: 'fatal',
  })
  return { postgres, pool, api, key: token, fleet, members }
}

// Jobs need Postgres and the queues only.
const nobodyThere = 'http://127.0.0.1:9'

async function call({ api, key }: Scene, method: 'GET' | 'POST', path: string, body?: object): Promise<string> {
  const answer = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
  return text
}

const postJob = async (scene: Scene): Promise<{ id: string; tookMs: number }> => {
  const { organizationId, groupId } = scene.fleet
  const startMs = performance.now()
  const answer = await call(scene, 'POST', `/orgs/${organizationId}/groups/${groupId}/jobs`, { kind: 'reboot' })
  const tookMs = performance.now() - startMs
  const batch = JSON.parse(answer) as { id: string; total: number }
  if (batch.total !== scene.members) throw new Error(`The batch has ${batch.total} jobs.`)
  return { id: batch.id, tookMs }
}

const bareInsert = `
  INSERT INTO job (id, organization_id, batch_id, device_id, kind, exclusive, status, max_attempts, lifetime_s, expires_at,
    hold, created_by, created_at, updated_at)
  SELECT uuidv7(), $1, $2, device_id, 'reboot', true, 'queued', 1, 3600, now() + interval '1 hour', 'fresh', 'bench',
    now(), now()
  FROM device_group_member WHERE organization_id = $1 AND group_id = $2`

async function measurePost(scene: Scene, rounds: number): Promise<Figure[]> {
  const { pool, fleet, members } = scene
  const served: number[] = []
  const bare: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    await forgetJobs(pool)
    const { tookMs } = await postJob(scene)
    await forgetJobs(pool)
    const startMs = performance.now()
    await pool.query(bareInsert, [fleet.organizationId, fleet.groupId])
    // The first round is the warm-up.
    if (round === 0) continue
    bare.push(performance.now() - startMs)
    served.push(tookMs)
  }
  await forgetJobs(pool)
  return [
    {
      name: `POST for ${members.toLocaleString('en')} devices`,
      value: `${shown(served)} ms; bare INSERT … SELECT ${shown(bare)} ms`,
      ratio: `${medianRatio(served, bare).toFixed(2)} ×`,
      target: '< 500 ms at 100,000, ≤ 2 ×',
    },
  ]
}

const forgetJobs = (pool: Pool) => pool.query('TRUNCATE job, job_event, job_batch, outbox_event')

type Dispatched = { enqueuedMs: number; dispatchedMs: number; idleMs: number[]; duringMs: number[] }

async function measureDispatch(scene: Scene, backend: 'Redis' | 'Postgres', quick: boolean): Promise<Figure[]> {
  const { postgres } = scene
  await forgetJobs(scene.pool)
  const redis = backend === 'Redis' ? await startRedis() : undefined
  const bareMs = await bareOfferMs(scene, redis)
  const worker = await startWorkerProcess({ postgresUrl: postgres.url, redisUrl: redis?.url })
  try {
    // The first round is the warm-up.
    await dispatchOnce(scene, 1_000)
    await longestStallMs(scene, worker.url)
    const rounds: Dispatched[] = []
    while (rounds.length < 3) rounds.push(await dispatchOnce(scene, quick ? 2_000 : 7_000))
    const stallMs = await longestStallMs(scene, worker.url)

    const enqueuedMs = median(rounds.map((round) => round.enqueuedMs))
    const dispatchedMs = median(rounds.map((round) => round.dispatchedMs))
    const idleMs = rounds.flatMap((round) => round.idleMs)
    const duringMs = rounds.flatMap((round) => round.duringMs)
    const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
    return [
      {
        name: `all enqueued in slices, on ${backend}`,
        value: `${seconds(enqueuedMs)} after the call; plain addBulk of the same number of single entries ${seconds(bareMs)}`,
        ratio: `${(enqueuedMs / bareMs).toFixed(1)} ×`,
        target: backend === 'Redis' ? 'enqueued < 10 s at 100,000' : '',
      },
      {
        name: `all dispatched, on ${backend}`,
        value: `${seconds(dispatchedMs)} after the call`,
        ratio: `${(dispatchedMs / bareMs).toFixed(1)} ×`,
        target: '',
      },
      {
        name: `other calls meanwhile, on ${backend}`,
        value: `p50 ${median(duringMs).toFixed(1)} ms, p99 ${percentile(duringMs, 99).toFixed(1)} ms of ${duringMs.length}; before p50 ${median(idleMs).toFixed(1)} ms, p99 ${percentile(idleMs, 99).toFixed(1)} ms of ${idleMs.length}`,
        ratio: `p99 ${(percentile(duringMs, 99) / percentile(idleMs, 99)).toFixed(1)} ×`,
        target: 'p99 ≤ 2 ×',
      },
      {
        name: `longest stall of an event loop, on ${backend}`,
        value: `control plane ${stallMs.api.toFixed(0)} ms, worker ${stallMs.worker.toFixed(0)} ms`,
        target: '< 50 ms',
      },
    ]
  } finally {
    await worker.end('SIGTERM')
    await redis?.stop()
  }
}

/** Measures other calls for a while, then again during the creation and the dispatch of one batch. */
async function dispatchOnce(scene: Scene, beforeMs: number): Promise<Dispatched> {
  const { pool, members } = scene
  await forgetJobs(pool)
  const others = otherCalls(scene)
  const idle = startPacedCalls(others, callEveryMs)
  await delay(beforeMs)
  const idleMs = await idle.stop()

  const during = startPacedCalls(others, callEveryMs)
  const startMs = performance.now()
  const { id } = await postJob(scene)
  const batch = async () => (await pool.query('SELECT offered, dispatched FROM job_batch WHERE id = $1', [id])).rows[0]
  await until('all are in the queue', async () => (await batch()).offered === members, 120_000)
  const enqueuedMs = performance.now() - startMs
  await until('all are dispatched', async () => (await batch()).dispatched === members, 240_000)
  const dispatchedMs = performance.now() - startMs
  return { enqueuedMs, dispatchedMs, idleMs, duringMs: await during.stop() }
}

/** The floor: adding the same number of references to a queue in calls of 250, without a worker. */
async function bareOfferMs({ postgres, members }: Scene, redis: TestRedis | undefined): Promise<number> {
  const backend = openQueueBackend({ postgresUrl: postgres.url, redisUrl: redis?.url }, () => {})
  try {
    const queues = await openJobQueues(backend)
    const references = Array.from({ length: members }, () => ({
      reference: { jobId: newId(), attempt: 1 },
      delayMs: 0,
      priority: 1,
    }))
    const startMs = performance.now()
    await queues.add('deadline', references)
    const tookMs = performance.now() - startMs
    await queues.close()
    await (redis ? redis.flush() : postgres.pool.query('TRUNCATE bullmq.job, bullmq.event CASCADE'))
    return tookMs
  } finally {
    await backend.close()
  }
}

// Slightly below the rate limit of one key.
const callEveryMs = 15

/** The requests of other callers: a device, a page of devices, the groups. */
function otherCalls(scene: Scene): () => Promise<void> {
  const { organizationId, deviceIds } = scene.fleet
  const paths = [
    () => `/devices/${deviceIds[Math.floor(Math.random() * deviceIds.length)]}`,
    () => `/devices?orgId=${organizationId}&limit=50`,
    () => `/orgs/${organizationId}/job-batches`,
  ]
  let turn = 0
  return async () => {
    turn += 1
    await call(scene, 'GET', paths[turn % paths.length]?.() ?? '')
  }
}

/** Returns the longest event loop delay of each process since the last call. */
async function longestStallMs(scene: Scene, workerUrl: string): Promise<{ api: number; worker: number }> {
  const secondsOf = (metrics: string, name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1])
  // The lag includes the interval of the timer that measures it.
  const stallOf = (metrics: string) =>
    (secondsOf(metrics, 'nodejs_eventloop_lag_max_seconds') - secondsOf(metrics, 'nodejs_eventloop_lag_min_seconds')) *
    1_000
  const [api, worker] = await Promise.all([
    call(scene, 'GET', '/metrics'),
    fetch(`${workerUrl}/metrics`).then((answer) => answer.text()),
  ])
  return { api: stallOf(api), worker: stallOf(worker) }
}
