import { Consumer } from '@platformatic/kafka'
import type { LogPosition } from '#telemetry-log/log'
import { clientOptions } from './kafka-client.ts'
import type { KafkaSettings } from './kafka-settings.ts'

export type KafkaEnds = {
  /** Returns the position after the last acknowledged record of each partition. Rejects if a broker does not respond. */
  read(): Promise<ReadonlyMap<number, LogPosition>>
  close(): Promise<void>
}

const latest = -1n

/** Opens a connection to ask where the partitions of the topic end. */
export function openKafkaEnds(settings: KafkaSettings): KafkaEnds {
  const { topic } = settings
  const consumer = new Consumer({ ...clientOptions(settings, 'routerfleet-ends'), groupId: 'routerfleet-readers' })
  consumer.topics.track(topic)
  return {
    async read() {
      const offsets = await consumer.listOffsets({ topics: [topic], timestamp: latest })
      return new Map((offsets.get(topic) ?? []).map((end, partition) => [partition, Number(end)]))
    },
    close: () => consumer.close(true),
  }
}
