import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findJava } from './java.ts'
import { kafkaJars, kafkaProgram } from './kafka-program.ts'
import { canConnect, freePort, startProcess, stopProcess, waitUntilReady } from './process.ts'

const run = promisify(execFile)

export type KafkaEngine = {
  /** Host and port for clients. */
  broker: string
  ports: KafkaPorts
  pid: number
  exited: Promise<string>
  stop(): Promise<void>
}

export type KafkaPorts = { broker: number; controller: number }

/** Several brokers, all of which are controllers. All of them must be started before one is ready. */
export type KafkaCluster = {
  /** The same for all brokers: 22 characters of base64url. */
  clusterId: string
  /** The ports of all brokers. Broker n of them has the node id n. */
  members: readonly KafkaPorts[]
}

export type KafkaOptions = {
  /** Contains `data/`, `server.properties`, `server.log` and `pid`; created if missing. */
  dir: string
  /** Folder of the downloaded jars. */
  cacheDir: string
  /** Called before the jars are downloaded, which may take a while. */
  onDownload?: (artifact: string) => void
  /** A Java installation that takes precedence over the PATH. */
  javaHome?: string | undefined
  /** A restart with the same data needs the same ports. */
  ports?: KafkaPorts
  /** The cluster that the broker belongs to. Default: it is alone. */
  cluster?: KafkaCluster
  /** Aborts the start. */
  signal?: AbortSignal
}

/** Short compilation and one collector thread: a small broker boots in 3 s and needs little memory. */
const javaFlags = ['-Xms64m', '-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:+ExitOnOutOfMemoryError']

const termThenKill = [
  { signal: 'SIGTERM', deadlineMs: 15_000 },
  { signal: 'SIGKILL', deadlineMs: 5_000 },
] as const

/**
 * Starts one Kafka broker, which is also its controller (KRaft), with the data in `dir` on the loopback address. Resolves when
 * it accepts connections. Throws if Java or Maven is missing, or with the end of the log if the start fails.
 */
export async function startKafka(options: KafkaOptions): Promise<KafkaEngine> {
  const dir = resolve(options.dir)
  const [java, jars] = await Promise.all([
    findJava(kafkaProgram, options.javaHome),
    kafkaJars(options.cacheDir, options.onDownload),
  ])
  await mkdir(dir, { recursive: true })
  const ports = options.ports ?? { broker: await freePort(), controller: await freePort() }
  const properties = join(dir, 'server.properties')
  const { clusterId, members } = options.cluster ?? {
    clusterId: randomBytes(16).toString('base64url'),
    members: [ports],
  }
  await writeFile(properties, settings(ports, members, join(dir, 'data')))
  const classPath = ['-cp', join(jars, '*')]
  if (!(await exists(join(dir, 'data', 'meta.properties')))) {
    // With `=`, because an id may begin with a hyphen.
    const format = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '-c', properties]
    await run(java, [...javaFlags, ...classPath, ...format], { cwd: dir })
  }
  const [logFile, pidFile] = [join(dir, 'server.log'), join(dir, 'pid')]
  const process = await startProcess(java, [...javaFlags, ...classPath, 'kafka.Kafka', properties], {
    logFile,
    pidFile,
    cwd: dir,
  })
  const engine = {
    broker: `127.0.0.1:${ports.broker}`,
    ports,
    pid: process.pid,
    exited: process.exited,
    stop: () => stopProcess(process, termThenKill, pidFile),
  }
  try {
    // The broker opens its port for clients only after its recovery.
    await waitUntilReady('Kafka', process, () => canConnect(ports.broker), { logFile, signal: options.signal })
  } catch (error) {
    await engine.stop()
    throw error
  }
  return engine
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** Kafka's own topics have as many copies as the topic of reports. Only the apps create topics. */
function settings(ports: KafkaPorts, members: readonly KafkaPorts[], dataDir: string): string {
  const idOf = (member: KafkaPorts) => members.findIndex(({ broker }) => broker === member.broker) + 1
  const replicas = Math.min(3, members.length)
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': idOf(ports),
    'controller.quorum.voters': members.map((member) => `${idOf(member)}@127.0.0.1:${member.controller}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${ports.broker}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': dataDir,
    'auto.create.topics.enable': false,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // A broker that was killed takes part again only when its earlier session has expired.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 1_000,
    'num.network.threads': 2,
    'num.io.threads': 2,
  }
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
