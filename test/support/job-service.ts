import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '#core/config'
import { createLogger } from '#http/request-log'
import { type OwnedPool, openPool } from '#postgres/pool'
import { configSchema } from '../../apps/worker/config.ts'
import { startWorker } from '../../apps/worker/start.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { type IngestProcess, masterSecret, startIngestProcess } from './ingest-process.ts'
import { isOnCluster } from './product-process.ts'
import { questdbConnection } from './questdb.ts'
import { startTestCluster } from './test-cluster.ts'

export type JobService = {
  databaseUrl: string
  pool: OwnedPool
  ingest: Pick<IngestProcess, 'url' | 'end'>
  close(): Promise<void>
}

/**
 * The path of a job: Postgres, the worker with its queues, and the device edge as a separate process. With
 * ROUTERFLEET_TEST_CLUSTER=1, a cluster, which stops when its device edge is to end.
 */
export async function startJobService({ redisUrl }: { redisUrl?: string } = {}): Promise<JobService> {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test' })
  if (isOnCluster) return startOnCluster(database, pool)
  const logDir = await mkdtemp(join(tmpdir(), 'routerfleet-jobs-'))
  const ingest = await startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })
  const environment = workerEnvironment(database.url, redisUrl)
  const worker = await startWorker(
    parseConfig(configSchema, environment),
    createLogger('worker', 'silent'),
    () => false,
  )
  return {
    databaseUrl: database.url,
    pool,
    ingest,
    async close() {
      await worker.stop()
      await ingest.end('SIGTERM')
      await pool.end()
      await database.drop()
      await rm(logDir, { recursive: true, force: true })
    },
  }
}

async function startOnCluster(database: TestDatabase, pool: OwnedPool): Promise<JobService> {
  const cluster = await startTestCluster(database.url)
  let stopped: Promise<number | null> | undefined
  const stop = () => {
    stopped ??= cluster.stop()
    return stopped
  }
  return {
    databaseUrl: database.url,
    pool,
    ingest: { url: cluster.access.baseUrl, end: stop },
    async close() {
      await stop()
      await pool.end()
      await database.drop()
    },
  }
}

/** The configuration of a worker in tests. */
export const workerEnvironment = (postgresUrl: string, redisUrl?: string): Record<string, string | undefined> => ({
  POSTGRES_URL: postgresUrl,
  REDIS_URL: redisUrl,
  QUESTDB_PG_URL: questdbConnection().pgUrl,
  QUESTDB_USER: questdbConnection().user,
  QUESTDB_PASSWORD: questdbConnection().password,
  CONFIG_SECRETS_KEY: masterSecret,
})

/** The requests of a router to the device edge. */
export function deviceCalls(baseUrl: string, token: string) {
  const call = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(new URL(path, baseUrl), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests assert.
    const body: any = text === '' ? undefined : JSON.parse(text)
    return { status: answer.status, headers: answer.headers, body }
  }
  return {
    call,
    next: (waitSeconds = 0) => call('GET', `/device/jobs/next?waitSeconds=${waitSeconds}`),
    report: (jobId: string, report: unknown) => call('POST', `/device/jobs/${jobId}/status`, report),
  }
}
