import { Consumer, offsetCommitV8, offsetFetchV8 } from '@platformatic/kafka'
import type { CommittedOffset } from './kafka-checkpoints.ts'
import { clientOptions } from './kafka-client.ts'
import type { KafkaSettings } from './kafka-settings.ts'

/** The member that commits. */
type Member = { generationId: number; memberId: string }

export type KafkaOffsets = {
  /** Returns what the group has committed for a partition; undefined if nothing. */
  committed(partition: number): Promise<CommittedOffset | undefined>
  /** Commits for a partition. Rejects if the member is not in the group; without a member, if the group has any. */
  commit(partition: number, committed: CommittedOffset, member?: Member): Promise<void>
  close(): Promise<void>
}

const nobody: Member = { generationId: -1, memberId: '' }

/** Opens the committed offsets of a group on a connection of its own. */
export function openKafkaOffsets(settings: KafkaSettings, groupId: string): KafkaOffsets {
  const { topic } = settings
  const consumer = new Consumer({ ...clientOptions(settings, 'routerfleet-offsets'), groupId })
  consumer.topics.track(topic)

  async function coordinator() {
    const node = await consumer.findGroupCoordinator()
    const connection = (await consumer.connectToBrokers([node])).get(node)
    if (!connection) throw new Error('The coordinator of the Kafka group does not respond.')
    return connection
  }

  return {
    async committed(partition) {
      const group = { groupId, memberEpoch: -1, topics: [{ name: topic, partitionIndexes: [partition] }] }
      const { groups } = await offsetFetchV8.api.async(await coordinator(), [group], true)
      const found = groups[0]?.topics[0]?.partitions[0]
      if (found === undefined || found.committedOffset < 0n) return undefined
      return { offset: Number(found.committedOffset), metadata: found.metadata ?? '' }
    },
    async commit(partition, { offset, metadata }, { generationId, memberId } = nobody) {
      const entry = {
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: -1,
        committedMetadata: metadata,
      }
      const topics = [{ name: topic, partitions: [entry] }]
      await offsetCommitV8.api.async(await coordinator(), groupId, generationId, memberId, null, topics)
    },
    close: () => consumer.close(true),
  }
}
