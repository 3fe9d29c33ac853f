import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { issueToken } from '#core/tokens'
import { migrate } from '#postgres/migrate'
import { openPool, type Pool } from '#postgres/pool'
import { applySchema } from '#questdb/schema/schema'
import { openQuestdbSql, type QuestdbRows } from '#questdb/server/sql'
import { startPostgres } from '../apps/stack/engines/postgres.ts'
import { freePort } from '../apps/stack/engines/process.ts'
import { type QuestdbEngine, startQuestdb } from '../apps/stack/engines/questdb.ts'
import { type PartEvent, type Supervised, supervise } from '../apps/stack/supervise.ts'
import { registerDevice } from '../test/support/registered-device.ts'
import { keepLogs } from './kept-logs.ts'
import { forkApp, stopChild } from './processes.ts'

/** Real engines in a temporary folder and the real services, for one benchmark run. */
export type BenchStack = {
  pool: Pool
  questdb: QuestdbRows
  environment: Record<string, string>
  /** The present ones: QuestDB is restarted when it ends, as by `npm start`. */
  pids: { readonly postgres: number; readonly questdb: number }
  close: () => Promise<void>
}

type EngineOptions = { questdbHeapBytes?: number }

/** Opens a stack, runs `work` with it, and always stops it. */
export async function withBenchStack<Result>(
  work: (stack: BenchStack) => Promise<Result>,
  engines: EngineOptions = {},
): Promise<Result> {
  const stack = await openBenchStack(engines)
  try {
    return await work(stack)
  } finally {
    await stack.close()
  }
}

async function openBenchStack({ questdbHeapBytes }: EngineOptions): Promise<BenchStack> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-bench-'))
  // If root runs this, Postgres runs as another user, who needs access to this folder.
  await chmod(dir, 0o711)
  const [postgres, server] = await Promise.all([
    startPostgres({ dir: join(dir, 'postgres'), durable: true }),
    keepQuestdb(join(dir, 'questdb'), questdbHeapBytes),
  ])
  const engine = server.current()
  await migrate(postgres.url)
  const pool = openPool(postgres.url, { applicationName: 'bench' })
  const questdb = openQuestdbSql(engine.pgUrl, { applicationName: 'bench', maxConnections: 4 })
  await applySchema(questdb, { ttlDays: 90 })
  return {
    pool,
    questdb,
    environment: {
      POSTGRES_URL: postgres.url,
      QUESTDB_URL: engine.httpUrl,
      QUESTDB_PG_URL: engine.pgUrl,
      QUESTDB_USER: engine.user,
      QUESTDB_PASSWORD: engine.password,
      LOG_DIR: join(dir, 'telemetry-log'),
      DATA_DIR: dir,
      CONFIG_SECRETS_KEY: randomBytes(32).toString('base64'),
      LOG_LEVEL: 'error',
    },
    pids: {
      postgres: postgres.pid,
      get questdb() {
        return server.current().pid
      },
    },
    close: async () => {
      await Promise.all([pool.end(), questdb.end()])
      await Promise.all([postgres.stop(), server.stop()])
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Starts QuestDB, and starts it again when it ends. Prints how it ended and where its log is kept. */
async function keepQuestdb(dir: string, heapBytes: number | undefined): Promise<Supervised<QuestdbEngine>> {
  const ports = { http: await freePort(), pg: await freePort() }
  const { JAVA_HOME: javaHome } = process.env
  return supervise(
    (signal) => startQuestdb({ dir, cacheDir: '.cache', javaHome, heapBytes, ports, signal }),
    (event) => void eventText(dir, event).then(console.error, console.error),
  )
}

async function eventText(dir: string, event: PartEvent): Promise<string> {
  if (event.kind === 'restarted') return 'QuestDB runs again.'
  if (event.kind === 'refused') return `QuestDB does not start: ${event.reason}`
  return `QuestDB ${event.how}. Its log is in ${await keepLogs(dir)}.`
}

export type AppOptions = { environment?: Record<string, string>; nodeArguments?: string[]; port?: number }

/** A running process of an app. */
export type AppProcess = {
  port: number
  pid: number
  child: ChildProcess
  /** Resolves when `/readyz` is 200. Rejects after two minutes, or when the process has ended. */
  ready(): Promise<void>
  stop(): Promise<void>
}

const readyLimitMs = 120_000

/** Starts ingest as a separate process without rate limits per device. Resolves when it is ready. */
export async function startIngestProcess(stack: BenchStack, options: AppOptions = {}): Promise<AppProcess> {
  const ingest = await spawnApp(stack, 'ingest', options)
  await ingest.ready()
  return ingest
}

/** Starts an app as a separate process, and does not wait for it. Devices have no rate limits. */
export async function spawnApp(
  stack: BenchStack,
  app: 'gateway' | 'ingest' | 'writer',
  { environment = {}, nodeArguments = [], port: wanted }: AppOptions = {},
): Promise<AppProcess> {
  const port = wanted ?? (await freePort())
  const unlimited = { DEVICE_REQUESTS_PER_MINUTE: '100000000', DEVICE_REQUEST_BURST: '100000000' }
  const child = forkApp(app, { ...stack.environment, ...environment, PORT: String(port), ...unlimited }, nodeArguments)
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
  return {
    port,
    pid: child.pid ?? 0,
    child,
    async ready() {
      const giveUpAt = Date.now() + readyLimitMs
      while (!(await isReady())) {
        if (Date.now() > giveUpAt || child.exitCode !== null) throw new Error(`${app} did not become ready.`)
        await pause(50)
      }
    },
    stop: () => stopChild(child),
  }
}

/** Creates an organization with `count` devices, each with a token. */
export async function seedDevices(stack: BenchStack, count: number): Promise<{ id: string; token: string }[]> {
  const { rows } = await stack.pool.query<{ id: string }>(
    `INSERT INTO organization (id, name, plan) VALUES (uuidv7(), 'Bench', 'enterprise') RETURNING id`,
  )
  const organizationId = String(rows[0]?.id)
  const devices: { id: string; token: string }[] = []
  for (let index = 0; index < count; index++) {
    const id = await registerDevice(stack.pool, organizationId)
    const { token, hash, id: tokenId } = issueToken('fld')
    await stack.pool.query(
      'INSERT INTO device_token (id, organization_id, device_id, token_hash) VALUES ($1, $2, $3, $4)',
      [tokenId, organizationId, id, hash],
    )
    devices.push({ id, token })
  }
  return devices
}
