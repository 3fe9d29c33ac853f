import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../apps/stack/engines/process.ts'
import { tlsSettings } from './redis.ts'
import { until } from './until.ts'

const run = promisify(execFile)

/** Three primaries, each with a replica, on free ports. */
export type TestRedisCluster = {
  /** For `REDIS_URL`: two of the six nodes. */
  url: string
  /** The same nodes over TLS. Clients must trust `caFile`. */
  tlsUrl: string
  caFile: string
  /** Returns the value of a string key; empty if it is missing or its node does not respond. */
  get(key: string): Promise<string>
  /** Kills the primary that has the slot of a key. Resolves when its replica has replaced it. */
  killPrimaryOf(key: string): Promise<void>
  /** Suspends that primary until its replica has replaced it. Resolves when it follows the new primary. */
  freezePrimaryOf(key: string): Promise<void>
  /** The nodes as one of them sees them. */
  nodes(): Promise<string>
  stop(): Promise<void>
}

const primaries = 3
const password = 'p@ss,word'
/** A replica replaces a primary that was silent for this time, which a busy machine must not cause. */
const nodeTimeoutMs = 5_000
/** An election that fails is repeated after four times the node timeout. */
const failoverLimitMs = 120_000

/** Starts the nodes without persistence and joins them to a cluster. Needs redis-server and redis-cli 7 or newer. */
export async function startRedisCluster(): Promise<TestRedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-redis-cluster-'))
  const tls = await tlsSettings(folder)
  const nodes = new Map<number, { process: ReturnType<typeof spawn>; tlsPort: number }>()
  for (let index = 0; index < 2 * primaries; index++) {
    const [port, busPort, tlsPort] = [await freePort(), await freePort(), await freePort()]
    const settings = {
      port,
      'cluster-port': busPort,
      'tls-port': tlsPort,
      ...tls,
      // Without it, nodes announce only their port without TLS.
      'tls-cluster': 'yes',
      'tls-replication': 'yes',
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
    nodes.set(port, { process: spawn('redis-server', args, { stdio: 'ignore' }), tlsPort })
  }
  const ports = [...nodes.keys()]
  const env = { PATH: process.env.PATH, REDISCLI_AUTH: password }
  const ask = async (port: number, ...command: string[]): Promise<string> => {
    const { stdout } = await run('redis-cli', ['-h', '127.0.0.1', '-p', String(port), ...command], {
      env,
      timeout: 10_000,
    })
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
    for (const { process: node } of nodes.values()) {
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

  const running = () =>
    ports.filter((port) => {
      const node = nodes.get(port)?.process
      return node?.exitCode === null && node.signalCode === null
    })

  /** Returns the port of the primary that has a slot, as a node sees it; 0 if it sees none that responds, or is too busy. */
  async function primaryOf(slot: number, port: number): Promise<number> {
    const lines = (await ask(port, 'CLUSTER', 'NODES').catch(() => '')).split('\n')
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

  /** Takes the primary of a key away and waits until its replica has replaced it. Returns the port of the former primary. */
  async function failOver(key: string, signal: 'SIGKILL' | 'SIGSTOP'): Promise<number> {
    const slot = Number(await ask(running()[0] ?? 0, 'CLUSTER', 'KEYSLOT', key))
    const port = await until(
      'the primary has a replica that follows',
      async () => {
        const primary = await primaryOf(slot, running()[0] ?? 0)
        return primary !== 0 && (await answers(primary, 'state=online', 'INFO', 'replication')) && primary
      },
      failoverLimitMs,
    )
    const others = running().filter((other) => other !== port)
    nodes.get(port)?.process.kill(signal)
    await until(
      'the replica is the primary',
      async () => {
        // One after the other, because each question is a process and would take CPU time from the nodes.
        for (const other of others) if ([0, port].includes(await primaryOf(slot, other))) return false
        return true
      },
      failoverLimitMs,
    )
    return port
  }

  const urlOf = (scheme: string, portOf: (port: number) => number) =>
    `${scheme}://:${encodeURIComponent(password)}@${ports
      .slice(0, 2)
      .map((port) => `127.0.0.1:${portOf(port)}`)
      .join(',')}`

  return {
    url: urlOf('redis+cluster', (port) => port),
    tlsUrl: urlOf('rediss+cluster', (port) => nodes.get(port)?.tlsPort ?? 0),
    caFile: join(folder, 'server.crt'),
    get: (key) =>
      ask(running()[0] ?? 0, '-c', 'GET', key).then(
        (value) => value.trim(),
        () => '',
      ),
    async killPrimaryOf(key) {
      await failOver(key, 'SIGKILL')
    },
    async freezePrimaryOf(key) {
      const port = await failOver(key, 'SIGSTOP')
      nodes.get(port)?.process.kill('SIGCONT')
      await until(
        'the former primary follows',
        () => answers(port, 'master_link_status:up', 'INFO', 'replication'),
        failoverLimitMs,
      )
    },
    nodes: () => ask(running()[0] ?? 0, 'CLUSTER', 'NODES'),
    stop,
  }
}
