import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureAccess } from '#fleet/access/bootstrap'
import { migrate } from '#postgres/migrate'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { childEnvironment } from '#test/child-environment'
import { mountSmallDisk } from '#test/small-disk'
import { startSmtp, type TestSmtp } from '#test/smtp'
import { startWebhookReceiver, type WebhookReceiver } from '#test/webhook-receiver'
import type { App } from '../../apps/stack/apps.ts'
import { type DataFolder, dataFolder } from '../../apps/stack/data-folder.ts'
import { type PostgresEngine, startPostgres } from '../../apps/stack/engines/postgres.ts'
import { freePort } from '../../apps/stack/engines/process.ts'
import { type QuestdbEngine, startQuestdb } from '../../apps/stack/engines/questdb.ts'
import { planServices } from '../../apps/stack/services.ts'
import { type RunningApps, startApps } from './running-apps.ts'
import { startSilentServer } from './silent-server.ts'
import { createTenant, type Tenant } from './tenant.ts'

export type TargetOptions = {
  /** Additional environment of every app. */
  environment?: Record<string, string>
  /** Additional environment with the address of a server that accepts connections and does not respond. */
  environmentOf?: (silentServerUrl: string) => Record<string, string>
  /** Puts the telemetry log on a disk of this size. */
  logDiskMebibytes?: number
  /** Starts a receiver of webhooks and a mail server to which the service delivers. */
  receivers?: true
}

/** The whole service with its own engines, in a temporary folder. */
export type Target = {
  folder: DataFolder
  /** The base address for callers and devices. */
  url: string
  /** The address of ingest, without the control plane. */
  ingestUrl: string
  workerUrl: string
  /** A platform administrator's key. */
  adminKey: string
  attacker: Tenant
  bystander: Tenant
  pool: OwnedPool
  questdb: QuestdbSql
  /** The engines, as most recently started. */
  engines: { postgres: PostgresEngine; questdb: QuestdbEngine }
  apps: RunningApps
  /** Rows that an attack inserted into the telemetry tables without ingest. */
  seeded: { rows: number }
  /** Undefined unless the target has receivers. */
  receivers: { webhooks: WebhookReceiver; mail: TestSmtp } | undefined
  /** The environment of the apps, to start another process. */
  environment: Record<string, string>
  startPostgres(): Promise<void>
  startQuestdb(): Promise<void>
  /** Stops everything and removes the folder. */
  close(): Promise<void>
}

const attackerDevices = 30
const bystanderDevices = 20

const open = new Set<() => void>()
// Engines run in separate process groups, so they would survive a run that ends early.
process.on('exit', () => {
  for (const kill of open) kill()
})

/** Starts engines and apps and creates the attacker's and the bystander's organizations. */
export async function openTarget(options: TargetOptions, signal: AbortSignal): Promise<Target> {
  const dir = mkdtempSync(join(tmpdir(), 'routerfleet-attacks-'))
  // Postgres does not run as root: its user must be able to enter this folder.
  chmodSync(dir, 0o711)
  const folder = dataFolder(dir)
  const undo: (() => Promise<void> | void)[] = [() => rmSync(dir, { recursive: true, force: true })]
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step()
    open.delete(kill)
  }
  const kill = () => killAllBelow(folder)
  open.add(kill)
  try {
    return await start(folder, options, signal, undo, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function start(
  folder: DataFolder,
  options: TargetOptions,
  signal: AbortSignal,
  undo: (() => Promise<void> | void)[],
  close: () => Promise<void>,
): Promise<Target> {
  if (options.logDiskMebibytes !== undefined) {
    undo.push(mountSmallDisk(folder.telemetryLog, options.logDiskMebibytes))
  }
  const ports = { http: await freePort(), pg: await freePort() }
  const postgresPort = await freePort()
  const runPostgres = () => startPostgres({ dir: folder.postgres, port: postgresPort, signal })
  const runQuestdb = () =>
    startQuestdb({ dir: folder.questdb, cacheDir: '.cache', javaHome: process.env.JAVA_HOME, ports, signal })
  const [postgres, questdb] = await startBoth(runPostgres(), runQuestdb())
  const engines = { postgres, questdb }
  undo.push(async () => {
    // An attack may have frozen them.
    for (const { pid } of Object.values(engines)) signalTo(pid, 'SIGCONT')
    await Promise.all(Object.values(engines).map((engine) => engine.stop()))
  })
  await migrate(postgres.url)
  const pool = openPool(postgres.url, { applicationName: 'attacks', maxConnections: 2 })
  undo.push(() => pool.end())
  const questdbSql = openQuestdbSql(questdb.pgUrl, { applicationName: 'attacks', maxConnections: 1 })
  undo.push(() => questdbSql.end())

  const silent = await startSilentServer()
  undo.push(() => silent.close())
  const receivers = options.receivers && { webhooks: await startWebhookReceiver(), mail: await startSmtp() }
  undo.push(async () => {
    await Promise.all([receivers?.webhooks.close(), receivers?.mail.close()])
  })
  const added = {
    ...options.environment,
    ...options.environmentOf?.(silent.url),
    ...(receivers && {
      ...receivers.webhooks.environment,
      SMTP_URL: receivers.mail.smtpUrl.reveal(),
      MAIL_FROM: 'alerts@routerfleet.test',
    }),
  }
  const { services, environment, url } = await plan(folder, engines, added)
  const apps = await startApps(services, folder, signal)
  undo.push(async () => {
    // An interrupted run does not wait for requests in progress.
    if (signal.aborted) for (const pid of Object.values(apps.pids())) signalTo(pid, 'SIGKILL')
    await apps.stop()
  })
  const { adminKey } = await ensureAccess({ pool }, { demo: false })
  return {
    folder,
    url,
    ingestUrl: originOf(services.ingest),
    workerUrl: originOf(services.worker),
    adminKey,
    attacker: await createTenant(url, adminKey, 'Attacker', attackerDevices),
    bystander: await createTenant(url, adminKey, 'Bystander', bystanderDevices),
    pool,
    questdb: questdbSql,
    engines,
    apps,
    seeded: { rows: 0 },
    receivers,
    environment,
    async startPostgres() {
      engines.postgres = await runPostgres()
    },
    async startQuestdb() {
      engines.questdb = await runQuestdb()
    },
    close,
  }
}

/** Starts both engines. If one fails to start, stops the other and throws. */
async function startBoth(
  ...starting: [Promise<PostgresEngine>, Promise<QuestdbEngine>]
): Promise<[PostgresEngine, QuestdbEngine]> {
  const started = await Promise.allSettled(starting)
  if (started.every((engine) => engine.status === 'fulfilled')) return Promise.all(starting)
  await Promise.all(started.map((engine) => engine.status === 'fulfilled' && engine.value.stop()))
  throw started.find((engine) => engine.status === 'rejected')?.reason
}

async function plan(
  folder: DataFolder,
  engines: { postgres: PostgresEngine; questdb: QuestdbEngine },
  added: Record<string, string>,
) {
  const { postgres, questdb } = engines
  const environment = {
    ...childEnvironment,
    POSTGRES_URL: postgres.url,
    QUESTDB_URL: questdb.httpUrl,
    QUESTDB_PG_URL: questdb.pgUrl,
    QUESTDB_USER: questdb.user,
    QUESTDB_PASSWORD: questdb.password,
    CONFIG_SECRETS_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'warn',
    ...added,
  }
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const place = { host: '127.0.0.1', port, localUrl: url, baseUrl: url, copies: 1 }
  const services = await planServices({ environment, folder, questdbCopies: [], ...place })
  return { services, environment, url }
}

const originOf = ([app]: readonly App[]) => new URL(String(app?.liveUrl)).origin

/** Kills every process that has a pid file in the folder. For use in an exit handler. */
function killAllBelow(folder: DataFolder): void {
  const files = ['ingest', 'worker', 'control-plane'].map((name) => join(folder.run, name))
  for (const file of [...files, join(folder.questdb, 'pid'), join(folder.postgres, 'pid')]) {
    const pid = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0
    if (pid > 1) signalTo(pid, 'SIGKILL')
  }
  rmSync(folder.dir, { recursive: true, force: true })
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has already exited.
  }
}
