import type { Options } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import { downloads } from './databases.ts'
import { startKafka } from './engines/kafka.ts'
import { freePort } from './engines/process.ts'
import { startRedis } from './engines/redis.ts'
import type { Keep } from './parts.ts'
import type { Progress } from './progress.ts'

/** The environment variables with which the apps of a cluster find Kafka and Redis. */
type BrokerEnvironment = { KAFKA_BROKERS: string; KAFKA_PARTITIONS?: string; REDIS_URL: string }

/** The writers of a copy of QuestDB share them. More partitions would only cause smaller writes to a QuestDB on the same machine. */
const partitions = '4'

/**
 * Starts Kafka and Redis for several copies of the apps, each unless the environment has the address of an external one. An
 * embedded engine keeps its port across restarts, so the apps can reconnect.
 */
export async function startBrokers(
  options: Options,
  folder: DataFolder,
  keep: Keep,
  progress: Progress,
): Promise<BrokerEnvironment> {
  const [kafka, redis] = await Promise.all([
    kafkaEnvironment(options, folder, keep, progress),
    redisEnvironment(options, folder, keep),
  ])
  return { ...kafka, ...redis }
}

async function kafkaEnvironment({ config }: Options, folder: DataFolder, keep: Keep, progress: Progress) {
  const { KAFKA_BROKERS, KAFKA_PARTITIONS = partitions } = config
  if (KAFKA_BROKERS) return { KAFKA_BROKERS }
  const ports = { broker: await freePort(), controller: await freePort() }
  const { broker } = await keep('Kafka', (signal) =>
    startKafka({
      dir: folder.kafka,
      cacheDir: downloads,
      onDownload: (artifact) => progress.tell('Kafka', `downloading ${artifact} with Maven (first start only) …`),
      javaHome: config.JAVA_HOME,
      ports,
      signal,
    }),
  )
  return { KAFKA_BROKERS: broker, KAFKA_PARTITIONS }
}

async function redisEnvironment({ config }: Options, folder: DataFolder, keep: Keep) {
  if (config.REDIS_URL) return { REDIS_URL: config.REDIS_URL }
  const port = await freePort()
  const { url } = await keep('Redis', (signal) => startRedis({ dir: folder.redis, port, signal }))
  return { REDIS_URL: url }
}
