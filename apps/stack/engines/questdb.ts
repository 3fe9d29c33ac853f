import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { keptSecret, replaceable } from './credentials.ts'
import { findJava } from './java.ts'
import { freePort, startProcess, stopProcess, waitUntilReady } from './process.ts'
import { repairTables } from './questdb-metadata.ts'
import { questdbJar, questdbProgram } from './questdb-program.ts'
import { questdbTuning } from './questdb-tuning.ts'
import { yieldCores } from './share-of-cores.ts'

export type QuestdbEngine = {
  /** Base address of the HTTP server: ILP writes, /exec and the web console. */
  httpUrl: string
  /** Connection string of the PostgreSQL wire protocol server, including credentials. */
  pgUrl: string
  user: string
  password: string
  ports: QuestdbPorts
  pid: number
  exited: Promise<string>
  stop(): Promise<void>
}

type QuestdbPorts = { http: number; pg: number }

export type QuestdbOptions = {
  /** Contains `data/`, `password`, `server.log` and `pid`; created if missing. */
  dir: string
  /** Folder of the downloaded jar. */
  cacheDir: string
  /** Called before the jar is downloaded, which may take a while. */
  onDownload?: (artifact: string) => void
  /** A Java installation that takes precedence over the PATH. */
  javaHome?: string | undefined
  ports?: QuestdbPorts
  ramLimitBytes?: number | undefined
  /** Maximum size of the Java heap, in which QuestDB keeps the ids of the devices that report. */
  heapBytes?: number | undefined
  /** More options of Java. They take precedence over the default ones. */
  javaOptions?: readonly string[] | undefined
  /** Whether it leaves busy cores to other processes once it is ready. Default: true. */
  yields?: boolean
  /** Aborts the start. */
  signal?: AbortSignal
}

const user = 'routerfleet'
const mebibyte = 1024 ** 2
const defaultRamLimitBytes = 2_048 * mebibyte
const defaultHeapBytes = 512 * mebibyte

const opened = ['java.lang', 'java.lang.reflect', 'java.nio', 'java.time.zone']

const termThenKill = [
  { signal: 'SIGTERM', deadlineMs: 15_000 },
  { signal: 'SIGKILL', deadlineMs: 5_000 },
] as const

/**
 * Starts QuestDB with the data in `dir` on the loopback address. Resolves when it answers queries. Throws if Java or Maven
 * is missing, or with the end of the log if the start fails.
 */
export async function startQuestdb(options: QuestdbOptions): Promise<QuestdbEngine> {
  const dir = resolve(options.dir)
  const dataDir = join(dir, 'data')
  const logFile = join(dir, 'server.log')
  const pidFile = join(dir, 'pid')
  const [java, jar] = await Promise.all([
    findJava(questdbProgram, options.javaHome),
    questdbJar(options.cacheDir, options.onDownload),
  ])
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const password = await keptSecret(join(dir, 'password'), replaceable)
  await repairTables(dataDir)
  const ports = options.ports ?? { http: await freePort(), pg: await freePort() }
  const process = await startProcess(java, [...javaFlags(jar, options), '-d', dataDir], {
    logFile,
    pidFile,
    cwd: dir,
    env: settings(ports, password, options.ramLimitBytes ?? defaultRamLimitBytes),
  })
  const engine = {
    httpUrl: `http://127.0.0.1:${ports.http}`,
    pgUrl: `postgresql://${user}:${password}@127.0.0.1:${ports.pg}/qdb`,
    user,
    password,
    ports,
    pid: process.pid,
    exited: process.exited,
    stop: () => stopProcess(process, termThenKill, pidFile),
  }
  try {
    await waitUntilReady('QuestDB', process, () => query(engine, 'select 1'), { logFile, signal: options.signal })
  } catch (error) {
    await engine.stop()
    throw error
  }
  if (options.yields ?? true) yieldCores(process.pid)
  return engine
}

async function query(engine: { httpUrl: string; password: string }, sql: string): Promise<void> {
  const response = await fetch(`${engine.httpUrl}/exec?query=${encodeURIComponent(sql)}`, {
    headers: { authorization: `Basic ${Buffer.from(`${user}:${engine.password}`).toString('base64')}` },
    signal: AbortSignal.timeout(2_000),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`QuestDB responded with ${response.status}.`)
}

/** A small heap is sufficient for most fleets: QuestDB keeps columns and buffers outside of it, within the RAM limit. */
function javaFlags(jar: string, { heapBytes = defaultHeapBytes, javaOptions = [] }: QuestdbOptions): string[] {
  return [
    '-Xms128m',
    `-Xmx${Math.round(heapBytes / mebibyte)}m`,
    '-XX:+UseParallelGC',
    '-XX:+ExitOnOutOfMemoryError',
    ...javaOptions,
    ...opened.flatMap((name) => ['--add-opens', `java.base/${name}=io.questdb`]),
    '--add-exports',
    'java.base/jdk.internal.math=io.questdb',
    '-p',
    jar,
    '-m',
    'io.questdb/io.questdb.ServerMain',
  ]
}

/** The environment variables of QuestDB: `QDB_` and the name of the property in capitals. */
function settings(ports: QuestdbPorts, password: string, ramLimitBytes: number): Record<string, string> {
  const workers = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))
  return {
    QDB_HTTP_BIND_TO: `127.0.0.1:${ports.http}`,
    QDB_PG_NET_BIND_TO: `127.0.0.1:${ports.pg}`,
    QDB_HTTP_MIN_ENABLED: 'false',
    QDB_HTTP_USER: user,
    QDB_HTTP_PASSWORD: password,
    QDB_PG_USER: user,
    QDB_PG_PASSWORD: password,
    QDB_RAM_USAGE_LIMIT_BYTES: String(ramLimitBytes),
    QDB_SHARED_QUERY_WORKER_COUNT: String(workers),
    QDB_SHARED_WRITE_WORKER_COUNT: String(workers),
    QDB_MAT_VIEW_REFRESH_WORKER_COUNT: String(workers),
    QDB_LOG_W_STDOUT_LEVEL: 'ERROR,CRITICAL,ADVISORY',
    // 0700. Its files have mode 0644 whatever the umask is, and nobody else can enter their folders.
    QDB_CAIRO_MKDIR_MODE: '448',
    ...questdbTuning,
  }
}
