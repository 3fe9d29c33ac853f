import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent as ConnectionPool, request } from 'undici'
import { createDeviceJob } from '#fleet/jobs/device-job'
import { startIngestProcess } from '#test/ingest-process'
import { createJobFleet, issueTestTokens, type JobFleet } from '#test/job-fleet'
import { until } from '#test/until'
import { startWorkerProcess } from '#test/worker-process'
import { openBenchPostgres } from './postgres.ts'
import type { Bench, Figure } from './report.ts'
import { median, percentile } from './statistics.ts'

/**
 * Many routers that wait for jobs at one ingest process: memory per router, and the delay until a router receives its job.
 * Memory is the resident size (VmRSS): heap including garbage, sockets, parsers, known tokens.
 */
export const longPoll: Bench = {
  name: 'long-poll',
  about:
    'Routers that wait for jobs at one ingest process, compared with the same process before they connect. Memory is VmRSS, 10 s after the previous step, without forced garbage collection.',
  async run({ quick }) {
    const routers = quick ? 1_000 : 10_000
    const waitSeconds = quick ? 15 : 55
    const postgres = await openBenchPostgres()
    const folder = await mkdtemp(join(tmpdir(), 'routerfleet-bench-'))
    const nobodyThere = 'http://127.0.0.1:9'
    const ingest = await startIngestProcess({
      postgresUrl: postgres.url,
      questdb: { httpUrl: nobodyThere, pgUrl: 'postgresql://127.0.0.1:9/none', user: 'admin', password: 'quest' },
      logDir: folder,
      environment: { LOG_LEVEL: 'fatal' },
    })
    const worker = await startWorkerProcess({ postgresUrl: postgres.url })
    try {
      const others = await createJobFleet(postgres.pool, 100)
      await warmUp(ingest.url, await issueTestTokens(postgres.pool, others.organizationId, others.deviceIds))
      const fleet = await createJobFleet(postgres.pool, routers)
      const tokens = await issueTestTokens(postgres.pool, fleet.organizationId, fleet.deviceIds)
      return await measure({ ingest, fleet, tokens, jobs: quick ? 50 : 300, waitSeconds })
    } finally {
      await worker.end('SIGTERM')
      await ingest.end('SIGTERM')
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    }
  },
}

type Parts = {
  ingest: { url: string; pid: number }
  fleet: JobFleet
  tokens: readonly string[]
  jobs: number
  waitSeconds: number
}

/** Waits until the memory for accepting the connections is released. */
const settleMs = 10_000

async function measure({ ingest, fleet, tokens, jobs, waitSeconds }: Parts): Promise<Figure[]> {
  await delay(settleMs)
  const before = residentBytes(ingest.pid)
  const crowd = startCrowd(ingest.url, tokens, waitSeconds)
  try {
    // Some routers are always between two requests.
    await until('nearly all of them wait', async () => (await waitingAt(ingest.url)) >= tokens.length * 0.98, 180_000)
    await delay(settleMs)
    const after = residentBytes(ingest.pid)
    const latencies: number[] = []
    for (let index = 0; index < jobs; index += 1) {
      const router = Math.floor((index * tokens.length) / jobs)
      const heard = crowd.nextAnswer(router)
      const startMs = performance.now()
      await createDeviceJob(fleet.ctx, { deviceId: fleet.deviceIds[router] ?? '', kind: 'speed_test' })
      await heard
      latencies.push(performance.now() - startMs)
      await delay(20)
    }
    await delay(waitSeconds * 1_000 + settleMs)
    const later = residentBytes(ingest.pid)
    const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0)
    return [
      {
        name: `${tokens.length.toLocaleString('en')} routers wait`,
        value: `${megabytes(after)} MiB resident; ${megabytes(before)} MiB without them`,
        ratio: `${((after - before) / tokens.length / 1_024).toFixed(1)} KiB each`,
        target: '< 200 MB (190 MiB) more at 10,000',
      },
      {
        name: 'after all routers polled again',
        value: `${megabytes(later)} MiB resident`,
        ratio: `${((later - before) / tokens.length / 1_024).toFixed(1)} KiB each`,
      },
      {
        name: 'a waiting router receives its job',
        value: `p50 ${median(latencies).toFixed(1)} ms, p99 ${percentile(latencies, 99).toFixed(1)} ms after it was asked for`,
        target: 'p99 < 100 ms',
      },
    ]
  } finally {
    await crowd.stop()
  }
}

/**
 * Warms up with routers that poll without waiting, because compiled code and a warm heap belong to the process and not to the
 * waiting routers.
 */
async function warmUp(url: string, tokens: readonly string[]): Promise<void> {
  const pool = new ConnectionPool({ connections: 10 })
  for (let round = 0; round < 50; round += 1) {
    const answers = tokens.map(async (token) => {
      const { body } = await request(`${url}/device/jobs/next`, {
        dispatcher: pool,
        headers: { authorization: `Bearer ${token}` },
      })
      await body.dump()
    })
    await Promise.all(answers)
  }
  await pool.destroy()
}

/** Routers that poll again after each response and do not report. They keep the jobs that they took. */
function startCrowd(url: string, tokens: readonly string[], waitSeconds: number) {
  const pool = new ConnectionPool({ connections: tokens.length, pipelining: 1, headersTimeout: 120_000 })
  const stopping = new AbortController()
  const expecting = new Map<number, () => void>()
  const wait = async (token: string, router: number) => {
    // 1,000 per second: more would wait in the listen queue and distort the measurement.
    await delay(router, undefined, { signal: stopping.signal })
    while (!stopping.signal.aborted) {
      const { statusCode, body } = await request(`${url}/device/jobs/next?waitSeconds=${waitSeconds}`, {
        dispatcher: pool,
        headers: { authorization: `Bearer ${token}` },
        signal: stopping.signal,
      })
      const answer = await body.text()
      if (statusCode !== 200) continue
      expecting.get(router)?.()
      const { id, attempt } = JSON.parse(answer) as { id: string; attempt: number }
      await request(`${url}/device/jobs/${id}/status`, {
        dispatcher: pool,
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ attempt, status: 'succeeded' }),
      }).then((reported) => reported.body.dump())
    }
  }
  const routers = tokens.map((token, router) => wait(token, router).catch(() => undefined))
  return {
    nextAnswer: (router: number) => new Promise<void>((resolve) => expecting.set(router, resolve)),
    async stop() {
      stopping.abort()
      await Promise.all(routers)
      await pool.destroy()
    },
  }
}

const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1_024

async function waitingAt(url: string): Promise<number> {
  const { statusCode, body } = await request(`${url}/metrics`)
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`/metrics answered ${statusCode}`)
  return Number(/^job_channel_waiting_devices (\d+)/m.exec(text)?.[1] ?? 0)
}
