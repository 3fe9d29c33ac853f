import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { freePort } from '../../apps/stack/engines/process.ts'
import { testTls } from './tls.ts'

const run = promisify(execFile)

/** A Redis on a free port that a test can kill and restart on the same port. */
export type TestRedis = {
  url: string
  flush(): Promise<void>
  /** Sends a command, such as one for administrators. */
  call(command: string, ...args: string[]): Promise<void>
  kill(): Promise<void>
  /** Suspends the process, whose connections remain open. */
  freeze(): void
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Returns whether this machine has redis-server. Tests that need it are skipped otherwise. */
export const hasRedis = (): Promise<boolean> =>
  run('redis-server', ['--version']).then(
    () => true,
    () => false,
  )

/** Settings of redis-server for TLS with the test certificate, whose files it writes to the folder. */
export async function tlsSettings(folder: string): Promise<Record<string, string>> {
  const [caFile, keyFile] = [join(folder, 'server.crt'), join(folder, 'server.key')]
  await Promise.all([writeFile(caFile, testTls.cert), writeFile(keyFile, testTls.key)])
  return {
    'tls-cert-file': caFile,
    'tls-key-file': keyFile,
    'tls-ca-cert-file': caFile,
    'tls-auth-clients': 'no',
  }
}

/**
 * Starts redis-server without eviction, as in production. `persistent` keeps the data across `kill` and `restart`. With `tls`,
 * it accepts only TLS. With `cluster`, it is the only node of a Redis Cluster, and no node has the last slot.
 */
export async function startRedis({ persistent = false, tls = false, cluster = false } = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-redis-'))
  const port = await freePort()
  const url = `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`
  const clustering = cluster
    ? ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort()), '--cluster-announce-ip', '127.0.0.1']
    : []
  const encryption = tls ? { port: 0, 'tls-port': port, ...(await tlsSettings(folder)) } : { port }
  const durability = persistent
    ? ['--appendonly', 'yes', '--appendfsync', 'always']
    : ['--save', '', '--appendonly', 'no']
  const start = () =>
    spawn(
      'redis-server',
      [
        ...Object.entries(encryption).flatMap(([name, value]) => [`--${name}`, String(value)]),
        '--bind',
        '127.0.0.1',
        '--dir',
        folder,
        '--maxmemory-policy',
        'noeviction',
        ...durability,
        ...clustering,
      ],
      { stdio: 'ignore' },
    )
  let server = start()
  const ready = () => withClient(url, (client) => client.ping().then(() => undefined))
  const kill = async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGKILL')
    await ended
  }
  const call = (command: string, ...args: string[]) =>
    withClient(url, (client) => client.call(command, ...args).then(() => undefined))
  await ready()
  if (cluster) await call('CLUSTER', 'ADDSLOTSRANGE', '0', '16382')
  return {
    url: cluster ? url.replace('://', '+cluster://') : url,
    flush: () => call('FLUSHALL'),
    call,
    kill,
    freeze: () => void server.kill('SIGSTOP'),
    async restart() {
      server = start()
      await ready()
    },
    async stop() {
      if (server.exitCode === null && server.signalCode === null) await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function withClient<Result>(url: string, work: (client: Redis) => Promise<Result>): Promise<Result> {
  const tls = url.startsWith('rediss:') ? { tls: { ca: testTls.cert } } : {}
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 100, ...tls })
  client.on('error', () => {})
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}
