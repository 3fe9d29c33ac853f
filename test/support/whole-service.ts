import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureAccess } from '#fleet/access/bootstrap'
import { type OwnedPool, openPool } from '#postgres/pool'
import { startAppProcess } from './app-process.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { startIngestProcess } from './ingest-process.ts'
import { workerEnvironment } from './job-service.ts'
import { isOnCluster } from './product-process.ts'
import { questdbConnection } from './questdb.ts'
import { startTestCluster } from './test-cluster.ts'

export type WholeService = {
  /** The base address of the service. */
  url: string
  adminKey: string
  databaseUrl: string
  pool: OwnedPool
  /** The output of the three processes on stdout and stderr. */
  output(): string
  close(): Promise<void>
}

/**
 * Starts control plane, ingest and worker as separate processes on a new database, as `npm start` does. With
 * ROUTERFLEET_TEST_CLUSTER=1, starts a cluster instead. `settings` are environment variables of all three.
 */
export async function startWholeService(settings: Record<string, string> = {}): Promise<WholeService> {
  const database = await createTestDatabase()
  const pool = openPool(database.url, { applicationName: 'test' })
  if (isOnCluster) return startOnCluster(database, pool)
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-service-'))
  const { adminKey } = await ensureAccess({ pool }, { demo: false })
  const questdb = questdbConnection()
  const environment = {
    ...workerEnvironment(database.url),
    QUESTDB_URL: questdb.httpUrl,
    LOG_LEVEL: 'debug',
    ...settings,
  }
  const [ingest, worker] = await Promise.all([
    startIngestProcess({
      postgresUrl: database.url,
      questdb,
      logDir: folder,
      environment: { LOG_LEVEL: 'debug', ...settings },
    }),
    startAppProcess('apps/worker/main.ts', environment),
  ])
  const controlPlane = await startAppProcess('apps/control-plane/main.ts', { ...environment, INGEST_URL: ingest.url })
  return {
    url: controlPlane.url,
    adminKey,
    databaseUrl: database.url,
    pool,
    output: () => [controlPlane, worker, ingest].map((app) => app.output()).join('\n'),
    async close() {
      await controlPlane.stop()
      await worker.stop()
      await ingest.end('SIGTERM')
      await pool.end()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startOnCluster(database: TestDatabase, pool: OwnedPool): Promise<WholeService> {
  const cluster = await startTestCluster(database.url)
  return {
    url: cluster.access.baseUrl,
    adminKey: cluster.access.adminKey,
    databaseUrl: database.url,
    pool,
    output: cluster.logs,
    async close() {
      await cluster.stop()
      await pool.end()
      await database.drop()
    },
  }
}
