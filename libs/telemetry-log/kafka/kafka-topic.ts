import { Admin } from '@platformatic/kafka'
import { clientOptions, isProtocolError } from './kafka-client.ts'
import type { KafkaSettings } from './kafka-settings.ts'

const mostReplicas = 3
/** A group of reports may all be for one partition. See `kafka-log.ts`. */
const maxBatchBytes = 2 * 1024 ** 2

/**
 * Creates the topic if it does not exist: three replicas, two of which must have a report before it is acknowledged, or as
 * many as there are brokers. Returns the number of its partitions. Rejects if no broker responds.
 */
export async function ensureTopic(settings: KafkaSettings): Promise<number> {
  const { topic, partitions, retentionMs } = settings
  const admin = new Admin(clientOptions(settings, 'routerfleet-admin'))
  try {
    if (!(await admin.listTopics()).includes(topic)) {
      const { brokers } = await admin.metadata({ topics: [] })
      const replicas = Math.min(mostReplicas, brokers.size)
      const configs = [
        { name: 'min.insync.replicas', value: replicas < mostReplicas ? '1' : '2' },
        { name: 'max.message.bytes', value: String(maxBatchBytes) },
        { name: 'retention.ms', value: String(retentionMs) },
        { name: 'cleanup.policy', value: 'delete' },
      ]
      await admin.createTopics({ topics: [topic], partitions, replicas, configs }).catch((error: unknown) => {
        if (!isProtocolError(error, 'TOPIC_ALREADY_EXISTS')) throw error
      })
    }
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
    const count = topics.get(topic)?.partitionsCount
    if (!count) throw new Error(`The Kafka topic ${topic} has no partitions yet.`)
    return count
  } finally {
    await admin.close()
  }
}
