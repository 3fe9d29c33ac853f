import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { keptSecret, replaceable } from './credentials.ts'
import { canConnect, freePort, startProcess, stopProcess, waitUntilReady } from './process.ts'

const run = promisify(execFile)

export type RedisEngine = {
  /** Connection string, including the password. */
  url: string
  pid: number
  exited: Promise<string>
  stop(): Promise<void>
}

type RedisOptions = {
  /** Contains `redis.conf`, `password`, `server.log` and `pid`; created if missing. */
  dir: string
  /** A restart needs the same port. */
  port?: number
  /** Aborts the start. */
  signal?: AbortSignal
}

const oldest = 6.2

const termThenKill = [
  { signal: 'SIGTERM', deadlineMs: 10_000 },
  { signal: 'SIGKILL', deadlineMs: 5_000 },
] as const

/**
 * Starts redis-server of the PATH on the loopback address, without persistence: the queues are filled again from Postgres.
 * Resolves when it accepts connections. Throws with one sentence if it is missing or too old, or with the end of the log if
 * the start fails.
 */
export async function startRedis(options: RedisOptions): Promise<RedisEngine> {
  await requireRedis()
  const dir = resolve(options.dir)
  await mkdir(dir, { recursive: true })
  const port = options.port ?? (await freePort())
  const password = await keptSecret(join(dir, 'password'), replaceable)
  const [configFile, logFile, pidFile] = [join(dir, 'redis.conf'), join(dir, 'server.log'), join(dir, 'pid')]
  await writeFile(configFile, settings(port, password), { mode: 0o600 })
  const process = await startProcess('redis-server', [configFile], { logFile, pidFile, cwd: dir })
  const engine = {
    url: `redis://:${password}@127.0.0.1:${port}`,
    pid: process.pid,
    exited: process.exited,
    stop: () => stopProcess(process, termThenKill, pidFile),
  }
  try {
    await waitUntilReady('Redis', process, () => canConnect(port), { logFile, signal: options.signal })
  } catch (error) {
    await engine.stop()
    throw error
  }
  return engine
}

async function requireRedis(): Promise<void> {
  const output = await run('redis-server', ['--version']).catch(() => undefined)
  const version = /v=(\d+\.\d+)/.exec(output?.stdout ?? '')?.[1]
  if (version !== undefined && Number(version) >= oldest) return
  const problem = version === undefined ? `Redis ${oldest} or newer` : `Redis ${oldest} or newer and found ${version}`
  throw new Error(
    `--cluster needs ${problem}: install it (on Debian and Ubuntu the package redis-server), or set REDIS_URL to a Redis of your own.`,
  )
}

/** With its own title, Redis would hide the data folder from `ps` and from a later start that stops it. */
function settings(port: number, password: string): string {
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${password}`,
    'save ""',
    'appendonly no',
    'maxmemory-policy noeviction',
    'set-proc-title no',
  ]
  return lines.map((line) => `${line}\n`).join('')
}
