import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findJava } from '../../apps/stack/engines/java.ts'
import { type KafkaEngine, startKafka } from '../../apps/stack/engines/kafka.ts'
import { kafkaJars, kafkaProgram } from '../../apps/stack/engines/kafka-program.ts'

const cacheDir = '.cache'
const javaHome = process.env.JAVA_HOME

/** A broker on free ports that a test can kill and restart with its data. */
export type TestKafka = {
  /** Host and port for clients. They stay the same after a restart. */
  broker: string
  kill(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Returns why no broker can be started here, or undefined if it can. Downloads the jars on first use. */
export const whyNoKafka = (): Promise<string | undefined> =>
  Promise.all([findJava(kafkaProgram, javaHome), kafkaJars(cacheDir)]).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

/** Starts a broker with an empty folder. */
export async function startTestKafka(): Promise<TestKafka> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-kafka-'))
  let engine: KafkaEngine = await startKafka({ dir, cacheDir, javaHome })
  const { broker, ports } = engine
  return {
    broker,
    async kill() {
      process.kill(engine.pid, 'SIGKILL')
      await engine.exited
    },
    async restart() {
      engine = await startKafka({ dir, cacheDir, javaHome, ports })
    },
    async stop() {
      await engine.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
