import { setTimeout as delay } from 'node:timers/promises'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { openPool } from '#postgres/pool'
import { createJobFleet, issueTestTokens } from '#test/job-fleet'
import { until } from '#test/until'
import { startWorkerProcess } from '#test/worker-process'
import type { Fault, Finding } from './fault.ts'
import { countJobEnds } from './job-ends.ts'
import { openScene, type Scene } from './scene.ts'

const goodDbm = -75
const poorDbm = -112
/** A router has a good signal for a while in each round of its own. */
const roundMs = 12_000
const goodMs = 4_000

/**
 * Kills each part with SIGKILL while jobs wait for a good signal that comes and goes. Each job is taken once and ends once; those
 * whose routers never have a good signal are handed to nobody.
 */
export const momentsKilled: Fault = {
  name: 'moments-killed',
  async run({ quick }) {
    const scene = await openScene(1)
    const pool = openPool(scene.postgres.url, { applicationName: 'faults' })
    let worker = await startWorkerProcess({ postgresUrl: scene.postgres.url })
    const rounds = quick ? 1 : 3
    try {
      const [lucky, poor] = [await createJobFleet(pool, quick ? 60 : 200), await createJobFleet(pool, 20)]
      const latestAt = new Date(Date.now() + (quick ? 60_000 : 120_000)).toISOString()
      const input = { kind: 'collect_diagnostics' } as const
      const waits = { when: 'goodSignal', minQuality: 'good' } as const
      const { id: luckyBatch } = await createBatch(lucky.ctx, {
        ...{ ...input, organizationId: lucky.organizationId, target: { groupId: lucky.groupId }, delivery: waits },
      })
      const { id: poorBatch } = await createBatch(poor.ctx, {
        ...{ ...input, organizationId: poor.organizationId, target: { groupId: poor.groupId } },
        delivery: { ...waits, latestAt, atLatest: 'expire' },
      })
      const tokensOf = (fleet: typeof lucky) => issueTestTokens(pool, fleet.organizationId, fleet.deviceIds)
      const [luckyTokens, poorTokens] = [await tokensOf(lucky), await tokensOf(poor)]
      // The good moments come only after the parts have been killed for the first time.
      const goodFromMs = Date.now() + 10_000
      const routers = [
        ...luckyTokens.map((token, index) => startRouter(scene, token, goodFromMs + (index % 20) * 3_000)),
        ...poorTokens.map((token) => startRouter(scene, token, Number.POSITIVE_INFINITY)),
      ]
      for (let round = 0; round < rounds; round += 1) {
        await killEach(scene, async () => {
          await worker.end('SIGKILL')
          worker = await startWorkerProcess({ postgresUrl: scene.postgres.url })
        })
      }
      const ended = (fleet: typeof lucky, batchId: string) =>
        until(
          'the batch ends',
          async () => {
            const batch = await getBatch(fleet.ctx, { organizationId: fleet.organizationId, batchId }).catch(
              () => undefined,
            )
            return batch?.status === 'finished' && batch
          },
          300_000,
        )
      const [luckyEnd, poorEnd] = [await ended(lucky, luckyBatch), await ended(poor, poorBatch)]
      const taken = await Promise.all(routers.map((router) => router.stop()))
      const { ended: ends, endedOnce } = await countJobEnds(pool, [luckyBatch, poorBatch])
      return findingsOf({ luckyEnd, poorEnd, taken, ends, endedOnce })
    } finally {
      await worker.end('SIGTERM')
      await pool.end()
      await scene.close()
    }
  },
}

async function killEach(scene: Scene, killWorker: () => Promise<void>): Promise<void> {
  await delay(4_000)
  await scene.ingest.end('SIGKILL')
  await scene.startIngest()
  await delay(4_000)
  await killWorker()
  await delay(4_000)
  process.kill(scene.questdb.pid, 'SIGKILL')
  await scene.questdb.exited
  await scene.startQuestdb()
  await delay(4_000)
  process.kill(scene.postgres.pid, 'SIGKILL')
  await scene.postgres.exited
  await scene.startPostgres()
}

type Taken = { attempts: string[]; isAtGoodSignal: boolean }

/** A router that reports its signal and asks for jobs, and carries each attempt out once. Returns what it took. */
function startRouter(scene: Scene, token: string, goodFromMs: number): { stop(): Promise<Taken> } {
  const attempts = new Set<string>()
  let isAtGoodSignal = true
  let lastGoodMs = Number.NEGATIVE_INFINITY
  let stopped = false
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(scene.ingest.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    }).catch(() => undefined)
    const text = await answer?.text().catch(() => '')
    return { status: answer?.status ?? 0, body: answer?.status === 200 && text ? JSON.parse(text) : undefined }
  }

  async function reportSignal(): Promise<void> {
    while (!stopped) {
      const nowMs = Date.now()
      const isGood = nowMs >= goodFromMs && (nowMs - goodFromMs) % roundMs < goodMs
      if (isGood) lastGoodMs = nowMs
      await call('POST', '/telemetry', {
        samples: [{ kind: 'cellular', ts: nowMs, rat: 'lte', rsrpDbm: isGood ? goodDbm : poorDbm }],
      })
      await delay(1_000)
    }
  }

  async function runJobs(): Promise<void> {
    while (!stopped) {
      const { status, body } = await call('GET', '/device/jobs/next?waitSeconds=5')
      if (status !== 200) {
        await delay(500)
        continue
      }
      const name = `${body.id} ${body.attempt}`
      // The signal may become poor while the answer is under way, and 2 minutes are the limit of a report.
      if (!attempts.has(name)) isAtGoodSignal &&= Date.now() - lastGoodMs < 120_000
      attempts.add(name)
      const report = { attempt: body.attempt, status: 'succeeded' }
      while (!stopped && ![200, 409].includes((await call('POST', `/device/jobs/${body.id}/status`, report)).status))
        await delay(500)
    }
  }

  const running = Promise.all([reportSignal(), runJobs()])
  return {
    async stop() {
      stopped = true
      await running
      return { attempts: [...attempts], isAtGoodSignal }
    },
  }
}

type Ends = {
  luckyEnd: Awaited<ReturnType<typeof getBatch>>
  poorEnd: Awaited<ReturnType<typeof getBatch>>
  taken: readonly Taken[]
  ends: number
  endedOnce: number
}

function findingsOf({ luckyEnd, poorEnd, taken, ends, endedOnce }: Ends): Finding[] {
  const total = luckyEnd.total + poorEnd.total
  const attempts = taken.flatMap((router) => router.attempts)
  const errors = new Set(taken.filter(({ isAtGoodSignal }) => !isAtGoodSignal))
  return [
    {
      what: 'every job whose router had a good signal succeeded',
      held: luckyEnd.counts.succeeded === luckyEnd.total,
      detail: JSON.stringify(luckyEnd.counts),
    },
    {
      what: 'every job whose router never had one expired',
      held: poorEnd.counts.expired === poorEnd.total,
      detail: JSON.stringify(poorEnd.counts),
    },
    { what: 'every job ended once', held: ends === total && endedOnce === total, detail: `${endedOnce} of ${total}` },
    {
      what: 'each job was taken once',
      held: attempts.length === luckyEnd.total,
      detail: `${attempts.length} attempts`,
    },
    { what: 'jobs were taken at a good signal', held: errors.size === 0, detail: `${errors.size} were not` },
  ]
}
