import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../apps/stack/engines/process.ts'
import { until } from './until.ts'

const run = promisify(execFile)

/** Three primaries, each with a replica, on free ports. */
export type TestRedisCluster = {
  /** For `REDIS_URL`: two of the six nodes. */
  url: string
  /** Returns the value of a string key; empty if it is missing. */
  get(key: string): Promise<string>
  /** Kills the primary that has the slot of a key. Resolves when its replica has replaced it. */
  killPrimaryOf(key: string): Promise<void>
  stop(): Promise<void>
}

const primaries = 3
const password = 'p@ss,word'
/** A replica replaces a primary that was silent for this time, which a busy machine must not cause. */
const nodeTimeoutMs = 5_000

/** Starts the nodes without persistence and joins them to a cluster. Needs redis-server and redis-cli 7 or newer. */
export async function startRedisCluster(): Promise<TestRedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-redis-cluster-'))
  const nodes = new Map<number, ReturnType<typeof spawn>>()
  for (let index = 0; index < 2 * primaries; index++) {
    const [port, busPort] = [await freePort(), await freePort()]
    const settings = {
      port,
      'cluster-port': busPort,
      bind: '127.0.0.1',
      dir: folder,
      'cluster-enabled': 'yes',
      'cluster-config-file': `nodes-${index}.conf`,
      'cluster-node-timeout': nodeTimeoutMs,
      'maxmemory-policy': 'noeviction',
      requirepass: password,
      masterauth: password,
      save: '',
      appendonly: 'no',
    }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    nodes.set(port, spawn('redis-server', args, { stdio: 'ignore' }))
  }
  const ports = [...nodes.keys()]
  const env = { PATH: process.env.PATH, REDISCLI_AUTH: password }
  const ask = async (port: number, ...command: string[]): Promise<string> => {
    const { stdout } = await run('redis-cli', ['-h', '127.0.0.1', '-p', String(port), ...command], { env })
    return stdout
  }
  const answers = (port: number, text: string, ...command: string[]) =>
    ask(port, ...command).then(
      (answer) => answer.includes(text),
      () => false,
    )
  const allAnswer = async (text: string, ...command: string[]) =>
    (await Promise.all(ports.map((port) => answers(port, text, ...command)))).every((isSo) => isSo)
  async function stop(): Promise<void> {
    for (const node of nodes.values()) {
      if (node.exitCode !== null || node.signalCode !== null) continue
      node.kill('SIGKILL')
      await once(node, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await until('all nodes answer', () => allAnswer('PONG', 'PING'), 60_000)
    const addresses = ports.map((port) => `127.0.0.1:${port}`)
    await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'], { env })
    await until('all nodes have joined', () => allAnswer('cluster_state:ok', 'CLUSTER', 'INFO'), 60_000)
    await until(
      'all replicas follow',
      async () => {
        const roles = await Promise.all(ports.map((port) => ask(port, 'ROLE')))
        return roles.filter((role) => role.startsWith('slave') && role.includes('connected')).length === primaries
      },
      60_000,
    )
  } catch (error) {
    await stop()
    throw error
  }

  const isRunning = (port: number) => nodes.get(port)?.exitCode === null && nodes.get(port)?.signalCode === null

  /** Returns the port of the primary that has a slot, as a node that runs sees it. */
  async function primaryOf(slot: number): Promise<number> {
    const [port = 0] = ports.filter(isRunning)
    const lines = (await ask(port, 'CLUSTER', 'NODES')).split('\n')
    const owner = lines.find((line) => {
      const [, , flags = '', , , , , , ...ranges] = line.split(' ')
      if (!flags.includes('master') || flags.includes('fail')) return false
      return ranges.some((range) => {
        const [from = Number.NaN, to = from] = range.split('-').map(Number)
        return from <= slot && slot <= to
      })
    })
    return Number(/ 127\.0\.0\.1:(\d+)@/.exec(owner ?? '')?.[1] ?? 0)
  }

  return {
    url: `redis+cluster://:${encodeURIComponent(password)}@${ports
      .slice(0, 2)
      .map((port) => `127.0.0.1:${port}`)
      .join(',')}`,
    async get(key) {
      const [port = 0] = ports.filter(isRunning)
      return (await ask(port, '-c', 'GET', key)).trim()
    },
    async killPrimaryOf(key) {
      const [asked = 0] = ports.filter(isRunning)
      const slot = Number(await ask(asked, 'CLUSTER', 'KEYSLOT', key))
      const port = await primaryOf(slot)
      const node = nodes.get(port)
      if (!node) throw new Error(`No primary has the key ${key}.`)
      node.kill('SIGKILL')
      await once(node, 'exit')
      await until(
        'the replica is the primary',
        async () => {
          const next = await primaryOf(slot)
          return next !== 0 && next !== port
        },
        60_000,
      )
    },
    stop,
  }
}
