import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorText } from '#core/error-text'
import { findJava } from '../../apps/stack/engines/java.ts'
import { type KafkaCluster, type KafkaEngine, type KafkaPorts, startKafka } from '../../apps/stack/engines/kafka.ts'
import { kafkaJars, kafkaProgram } from '../../apps/stack/engines/kafka-program.ts'
import { freePort } from '../../apps/stack/engines/process.ts'

const cacheDir = '.cache'
const javaHome = process.env.JAVA_HOME

/** A broker on free ports that a test can kill and restart with its data. */
export type TestKafka = {
  /** Host and port for clients. They stay the same after a restart. */
  broker: string
  /** The id of the current process. */
  pid(): number
  kill(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Returns why no broker can be started here, or undefined if it can. Downloads the jars on first use. */
export const whyNoKafka = (): Promise<string | undefined> =>
  Promise.all([findJava(kafkaProgram, javaHome), kafkaJars(cacheDir)]).then(() => undefined, errorText)

/** Starts a broker with an empty folder, alone or as a member of a cluster. */
export async function startTestKafka(member?: { ports: KafkaPorts; cluster: KafkaCluster }): Promise<TestKafka> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-kafka-'))
  let engine: KafkaEngine = await startKafka({ dir, cacheDir, javaHome, ...member })
  const { broker, ports } = engine
  return {
    broker,
    pid: () => engine.pid,
    async kill() {
      process.kill(engine.pid, 'SIGKILL')
      await engine.exited
    },
    async restart() {
      engine = await startKafka({ dir, cacheDir, javaHome, ...member, ports })
    },
    async stop() {
      await engine.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Starts several brokers with empty folders. Resolves when all of them accept connections. */
export async function startTestKafkaCluster(count: number): Promise<{ brokers: TestKafka[]; stop(): Promise<void> }> {
  const clusterId = randomBytes(16).toString('base64url')
  const members: KafkaPorts[] = []
  for (let index = 0; index < count; index++) members.push({ broker: await freePort(), controller: await freePort() })
  const cluster = { clusterId, members }
  const brokers = await Promise.all(members.map((ports) => startTestKafka({ ports, cluster })))
  return {
    brokers,
    async stop() {
      await Promise.all(brokers.map((broker) => broker.stop()))
    },
  }
}
