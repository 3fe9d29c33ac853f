import { setTimeout as delay } from 'node:timers/promises'
import { withDescendants } from '#test/process-tree'
import { until } from '#test/until'
import type { Finding } from '../../faults/fault.ts'
import type { Attack, AttackOptions } from '../attack.ts'
import { countConnections } from '../connections.ts'
import { attempt } from '../http-attempt.ts'
import type { Target } from '../target.ts'

type Engine = 'postgres' | 'questdb'

const healLimitMs = 10_000
const startLimitMs = 30_000

/** Waits until all parts of the service respond. Returns the time that this took. */
async function healed(target: Target, what: string): Promise<Finding> {
  const { url, ingestUrl, bystander } = target
  const [device] = bystander.devices
  const headers = { authorization: `Bearer ${bystander.viewerKey}` }
  const paths = [
    `${url}/devices?orgId=${bystander.organizationId}`,
    `${url}/api/router/${device?.id}/telemetry/latest`,
    `${url}/readyz`,
    `${ingestUrl}/readyz`,
  ]
  const answersOk = (path: string) =>
    attempt({ url: path, headers, timeoutMs: 5_000 }).then(
      ({ status }) => status === 200,
      () => false,
    )
  const startedMs = Date.now()
  const isWell = await until(
    what,
    async () => (await Promise.all(paths.map(answersOk))).every(Boolean) || undefined,
    60_000,
  ).catch(() => false)
  const tookMs = Date.now() - startedMs
  return { what, held: isWell && tookMs < healLimitMs, detail: isWell ? `${tookMs} ms` : 'not within 60 s' }
}

/** Ingest, worker and control plane have one LISTEN connection each. */
async function countListeners({ pool }: Target): Promise<Finding> {
  const what = 'a listener has one connection'
  try {
    const listeners = (await countConnections(pool)).get('listener') ?? 0
    return { what, held: listeners <= 3, detail: `${listeners} listeners` }
  } catch (error) {
    return { what, held: false, detail: String(error) }
  }
}

async function killFor(target: Target, engine: Engine, seconds: number, { signal }: AttackOptions): Promise<void> {
  const { pid, exited } = target.engines[engine]
  process.kill(pid, 'SIGKILL')
  await exited
  await delay(seconds * 1_000, undefined, { signal }).catch(() => {})
  await (engine === 'postgres' ? target.startPostgres() : target.startQuestdb())
}

async function freezeFor(target: Target, engine: Engine, seconds: number, { signal }: AttackOptions): Promise<void> {
  const pids = withDescendants(target.engines[engine].pid)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  await delay(seconds * 1_000, undefined, { signal }).catch(() => {})
  for (const pid of pids) process.kill(pid, 'SIGCONT')
}

/** An engine outage. Probes that need the engine have no verdict; all others and the recovery time do. */
const needs = {
  postgres: ['deviceList', 'deviceRead', 'nextJob', 'reportQueryable'],
  questdb: ['reportQueryable'],
} as const

const outage = (engine: Engine): Attack => ({
  name: `${engine}-outage`,
  about: `${engine} is killed under load and down for 2, 12 and 60 s`,
  // An engine starts slowly on a busy machine.
  durationMs: 60_000,
  exempt: needs[engine],
  async run(target, options) {
    const findings: Finding[] = []
    for (const seconds of options.quick ? [2, 12] : [2, 12, 60]) {
      if (options.signal.aborted) break
      await killFor(target, engine, seconds, options)
      findings.push(await healed(target, `well again within 10 s after ${seconds} s`))
    }
    return { answers: {}, findings }
  },
})

const frozen = (engine: Engine): Attack => ({
  name: `${engine}-frozen`,
  about: `every process of ${engine} is suspended (SIGSTOP) for 20 s: connections remain open without responses`,
  // An engine starts slowly on a busy machine.
  durationMs: 60_000,
  exempt: needs[engine],
  async run(target, options) {
    await freezeFor(target, engine, options.quick ? 10 : 20, options)
    return { answers: {}, findings: [await healed(target, 'well again within 10 s')] }
  },
})

/** Postgres is down while ingest and the control plane start. */
const postgresAwayAtStart: Attack = {
  name: 'postgres-away-at-start',
  about: 'ingest and the control plane are killed and start while Postgres is down for 2, 12 and 60 s',
  durationMs: 60_000,
  exempt: [...needs.postgres, 'controlPlaneLivez', 'ingestLivez'],
  async run(target, options) {
    const findings: Finding[] = []
    for (const seconds of options.quick ? [12] : [2, 12, 60]) {
      if (options.signal.aborted) break
      process.kill(target.engines.postgres.pid, 'SIGKILL')
      await target.engines.postgres.exited
      const restarts = [target.apps.restart('ingest', 'SIGKILL'), target.apps.restart('controlPlane', 'SIGKILL')]
      await delay(seconds * 1_000, undefined, { signal: options.signal }).catch(() => {})
      await target.startPostgres()
      const startedMs = Date.now()
      const areUp = await Promise.race([Promise.all(restarts).then(() => true), delay(startLimitMs, false)])
      const detail = `${Date.now() - startedMs} ms`
      findings.push({ what: `started within 30 s after Postgres was back (${seconds} s outage)`, held: areUp, detail })
      if (areUp) findings.push(await healed(target, `well again within 10 s after ${seconds} s`))
      findings.push(await countListeners(target))
    }
    return { answers: {}, findings }
  },
}

export const outages: readonly Attack[] = [
  outage('questdb'),
  frozen('questdb'),
  outage('postgres'),
  frozen('postgres'),
  postgresAwayAtStart,
]
