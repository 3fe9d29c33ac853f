import { readFileSync } from 'node:fs'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { witnessEvents } from '#test/event-witness'
import { whyNoKafka } from '#test/kafka'
import { startProductProcess } from '#test/product-process'
import { hasRedis } from '#test/redis'
import { until } from '#test/until'
import { SkipFault } from '../fault.ts'
import { openParts, type Parts } from './parts.ts'

export type ClusterScene = {
  baseUrl: string
  adminKey: string
  pool: OwnedPool
  /** All QuestDB servers, each with a complete copy of the telemetry. */
  questdbs: QuestdbSql[]
  redisUrl: string
  eventsOf: Awaited<ReturnType<typeof witnessEvents>>
  parts: Parts
  /** Waits until Postgres and all QuestDB servers answer. */
  enginesAnswer(): Promise<void>
  /** Waits until the cluster is ready and all copies of all apps respond. */
  healthy(): Promise<void>
  close(): Promise<void>
}

const limitMs = 120_000

/**
 * Starts the product with `--cluster` in a temporary folder. With `postgresUrl` it uses that Postgres instead of an embedded
 * one. Throws SkipFault if this machine cannot run it.
 */
export async function openClusterScene({ postgresUrl }: { postgresUrl?: string } = {}): Promise<ClusterScene> {
  if (process.platform !== 'linux') throw new SkipFault('--cluster needs Linux.')
  if (!(await hasRedis())) throw new SkipFault('redis-server is not installed.')
  const problem = await whyNoKafka()
  if (problem) throw new SkipFault(problem)

  // Many reports per device. Other tests cover the rate limit of devices.
  const limits = { DEVICE_REQUESTS_PER_MINUTE: '1000000', DEVICE_REQUEST_BURST: '1000000' }
  const product = await startProductProcess(['--cluster', '--no-demo'], {
    ...limits,
    ...(postgresUrl && { POSTGRES_URL: postgresUrl }),
  })
  const { baseUrl, adminKey } = product.access
  const parts = openParts(product.folder)
  const opened: (() => Promise<unknown>)[] = [product.stop]
  const close = async () => {
    for (const end of opened.toReversed()) await end()
  }

  async function healthy(): Promise<void> {
    const get = async (path: string) => {
      const answer = await fetch(baseUrl + path, {
        headers: { authorization: `Bearer ${adminKey}` },
        signal: AbortSignal.timeout(10_000),
      })
      return { status: answer.status, text: await answer.text() }
    }
    const isHealthy = async () => {
      const ready = await get('/readyz')
      const up = [...(await get('/metrics')).text.matchAll(/^app_up\{[^}]*\} (\d)$/gm)]
      return ready.status === 200 && up.length > 0 && up.every(([, value]) => value === '1')
    }
    await until('the cluster is healthy', () => isHealthy().catch(() => false), limitMs)
  }

  try {
    const environment = environmentOf((await parts.partOf('control-plane', 0)).pid)
    const pool = openPool(environment.POSTGRES_URL ?? '', { applicationName: 'faults' })
    opened.push(() => pool.end())
    const questdbs = questdbUrls(environment).map((url) => openQuestdbSql(url, { applicationName: 'faults' }))
    opened.push(...questdbs.map((questdb) => () => questdb.end()))
    const eventsOf = await witnessEvents(pool)
    return {
      baseUrl,
      adminKey,
      pool,
      questdbs,
      redisUrl: environment.REDIS_URL ?? '',
      eventsOf,
      parts,
      async enginesAnswer() {
        const answer = () =>
          Promise.all([pool.query('SELECT 1'), ...questdbs.map((questdb) => questdb.query('SELECT 1'))])
        await until('the databases answer', () => answer().then(Boolean, () => false), limitMs)
      },
      healthy,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The environment variables of a running process. */
function environmentOf(pid: number): Record<string, string> {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
  return Object.fromEntries(
    variables.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  )
}

/** The SQL addresses of the only server or of all copies (`a=http://…,postgresql://…;b=…`). */
function questdbUrls(environment: Record<string, string>): string[] {
  const { QUESTDB_SERVERS: servers, QUESTDB_PG_URL: only = '' } = environment
  const urls = servers ? servers.split(';').map((entry) => entry.slice(entry.indexOf(',') + 1)) : [only]
  return urls.map((text) => {
    const url = new URL(text)
    url.username ||= environment.QUESTDB_USER ?? ''
    url.password ||= environment.QUESTDB_PASSWORD ?? ''
    return url.href
  })
}
