import type { Logger } from '#http/request-log'
import type { KafkaGroup } from '#telemetry-log/kafka/kafka-group'
import type { KafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import type { LogPosition } from '#telemetry-log/log'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import type { WatchedQuestdb } from '#telemetry-writer/watched-questdb'
import { type GroupFigures, startPartition, type WrittenPartition } from './partition.ts'

/** The partitions that the consumer group has assigned to this process. */
export type WrittenPartitions = {
  all(): readonly WrittenPartition[]
  /** Starts the writers of partitions. `failed` receives a failure that does not pass. */
  start(gained: readonly number[], group: KafkaGroup, failed: (error: Error) => void): void
  /** Stops their writers. After that, another process may have the partitions. */
  stop(lost: readonly number[]): Promise<void>
  figures(): GroupFigures[]
  /** Reads the state of QuestDB once. Rejects if it does not respond. */
  follow(): Promise<void>
  /** Returns a function that confirms what was told until now. */
  confirmation(): () => void
}

export function createWrittenPartitions(parts: {
  settings: KafkaSettings
  questdb: WatchedQuestdb
  /** For data that cannot be stored. */
  folder: string
  isAwaited: (organizationId: string) => boolean
  /** Receives changes by reports of a partition before a position. */
  onTold: (partition: number, told: ToldByRows, position: LogPosition) => void
  logger: Logger
}): WrittenPartitions {
  const { questdb, onTold, logger } = parts
  const partitions = new Map<number, WrittenPartition>()
  const all = () => [...partitions.values()]
  return {
    all,
    start(gained, group, failed) {
      logger.info({ partitions: gained }, 'partitions_assigned')
      for (const partition of gained) {
        const onPartitionTold = (told: ToldByRows, position: LogPosition) => onTold(partition, told, position)
        const written = startPartition({ ...parts, partition, group, onTold: onPartitionTold })
        written.running.catch(failed)
        partitions.set(partition, written)
      }
    },
    async stop(lost) {
      await Promise.all(lost.map((partition) => partitions.get(partition)?.stop()))
      for (const partition of lost) partitions.delete(partition)
      logger.info({ partitions: lost }, 'partitions_revoked')
    },
    figures: () => all().flatMap((written) => written.figures() ?? []),
    async follow() {
      await questdb.watch.look()
      const isRestarted = questdb.watch.takeRestart()
      for (const partition of all()) partition.follow(isRestarted)
    },
    confirmation() {
      const confirmations = all().map(({ confirmation }) => confirmation())
      return () => {
        for (const confirm of confirmations) confirm()
      }
    },
  }
}
