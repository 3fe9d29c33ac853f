import { join } from 'node:path'
import { type AppProcess, startAppProcess } from './app-process.ts'
import { type IngestPlace, startIngestProcess } from './ingest-process.ts'
import { startTestKafka, type TestKafka } from './kafka.ts'

/** What takes a report from a router to QuestDB. */
export type TelemetryPath = { url: string; stop(): Promise<void> }

/** Starts ingest with its own writers, or ingest, a broker and a writer. */
export async function startTelemetryPath(log: 'segment files' | 'Kafka', place: IngestPlace): Promise<TelemetryPath> {
  let kafka: TestKafka | undefined
  let writer: AppProcess | undefined
  const environment = { ...place.environment }
  if (log === 'Kafka') {
    kafka = await startTestKafka()
    Object.assign(environment, { KAFKA_BROKERS: kafka.broker, KAFKA_PARTITIONS: '4' })
    const { postgresUrl, questdb, logDir } = place
    writer = await startAppProcess('apps/writer/main.ts', {
      KAFKA_BROKERS: environment.KAFKA_BROKERS,
      KAFKA_PARTITIONS: '4',
      POSTGRES_URL: postgresUrl,
      QUESTDB_URL: questdb.httpUrl,
      QUESTDB_PG_URL: questdb.pgUrl,
      QUESTDB_USER: questdb.user,
      QUESTDB_PASSWORD: questdb.password,
      WRITER_DIR: join(logDir, 'writer'),
      LOG_LEVEL: 'warn',
    })
  }
  const ingest = await startIngestProcess({ ...place, environment })
  return {
    url: ingest.url,
    async stop() {
      await ingest.end('SIGTERM')
      await writer?.stop()
      await kafka?.stop()
    },
  }
}
