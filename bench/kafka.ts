import { join } from 'node:path'
import { startTestKafka, type TestKafka, whyNoKafka } from '../test/support/kafka.ts'
import type { BenchStack } from './stack.ts'

/** A broker beside the other engines. `environment` is for ingest and the writers. */
export type BenchKafka = { kafka: TestKafka; environment: Record<string, string> }

/** Starts a broker. Throws if this machine cannot run one. */
export async function startBenchKafka(stack: BenchStack): Promise<BenchKafka> {
  const problem = await whyNoKafka()
  if (problem) throw new Error(problem)
  const kafka = await startTestKafka()
  const { DATA_DIR = '' } = stack.environment
  return {
    kafka,
    environment: {
      KAFKA_BROKERS: kafka.broker,
      KAFKA_PARTITIONS: '4',
      // Without unstored segments, which ingest would refuse.
      LOG_DIR: join(DATA_DIR, 'no-segments'),
      WRITER_DIR: join(DATA_DIR, 'writer'),
    },
  }
}
