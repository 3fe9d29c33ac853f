import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '#core/error-text'
import type { Logger } from '#http/request-log'
import { saveDamagedBytes } from '#telemetry-log/dead-letters/dead-letters'
import { decodeCheckpoint, openKafkaCheckpoints, startingAt } from '#telemetry-log/kafka/kafka-checkpoints'
import type { KafkaGroup } from '#telemetry-log/kafka/kafka-group'
import { type KafkaPartition, openKafkaPartition } from '#telemetry-log/kafka/kafka-partition'
import type { KafkaDamage } from '#telemetry-log/kafka/kafka-reader'
import type { KafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import type { LogPosition } from '#telemetry-log/log'
import { settledSamples, type WrittenFigures } from '#telemetry-writer/metrics'
import {
  type OpenPartition,
  openPartition,
  type PartitionLog,
  type PartitionTools,
} from '#telemetry-writer/open-partition'
import { createStoredTimes } from '#telemetry-writer/recovery/stored-times'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import { openCheckpoints } from '#telemetry-writer/store/checkpoints'
import type { WatchedQuestdb } from '#telemetry-writer/watched-questdb'

/** `lag`: reports that are not stored yet. */
export type GroupFigures = WrittenFigures & { lag: number }

export type WrittenPartition = Pick<OpenPartition, 'running' | 'follow'> & {
  partition: number
  /** Undefined until the first report can be read. */
  figures(): GroupFigures | undefined
  /** Returns a function that confirms what was told until now. */
  confirmation(): () => void
  /** Records where the partition ends. `atMs`: a time of Postgres' clock at or before that. */
  noteEnd(end: LogPosition, atMs?: number): void
  /** See `CopyProgress`. */
  progress(): { storedToMs: number | undefined; toldPosition: LogPosition | undefined }
  /** Stores what was read, within limits of time, and commits. After that, another process may have the partition. */
  stop(): Promise<void>
}

type KafkaPartitionParts = {
  partition: number
  settings: KafkaSettings
  group: KafkaGroup
  questdb: WatchedQuestdb
  folder: string
  isAwaited: (organizationId: string) => boolean
  /** Receives changes by reports before a position. */
  onTold: (told: ToldByRows, position: LogPosition) => void
  logger: Logger
}

/** Together shorter than the group's session. What cannot be stored or committed in this time is stored by the next owner. */
const stopLimitMs = 4_000
const commitLimitMs = 2_000

/** Stores one partition until `stop`. Starts at once, and waits while the brokers or QuestDB do not respond. */
export function startPartition(parts: KafkaPartitionParts): WrittenPartition {
  const { partition, questdb, isAwaited, onTold } = parts
  const logger = parts.logger.child({ partition })
  const storedTimes = createStoredTimes()
  let told: { number: number; position: LogPosition | undefined } = { number: 0, position: undefined }
  let toldPosition: LogPosition | undefined
  let log: KafkaPartition | undefined
  const writer = openPartition({
    place: placeOf(parts),
    questdb,
    logger,
    isAwaited,
    async openLog(tools) {
      const opened = await openLog({ ...parts, logger }, tools)
      log = opened.partition
      return opened.log
    },
    onStored(changes, number, position) {
      told = { number, position }
      onTold(changes, position)
    },
  })
  return {
    partition,
    running: writer.running,
    figures() {
      const figures = writer.figures()
      if (!figures || !log) return undefined
      const settled = settledSamples(figures)
      const end = log.end({ position: figures.position, samples: settled })
      const lag = Math.max(0, end.position - figures.position)
      return { ...figures, partition, acceptedSamples: Math.max(end.samples, settled), lag }
    },
    follow(isRestarted) {
      if (isRestarted) storedTimes.restart()
      writer.follow(isRestarted)
    },
    confirmation() {
      const { number, position } = told
      return () => {
        writer.confirm(number)
        toldPosition = position
      }
    },
    noteEnd(end, atMs) {
      // While QuestDB is down, the readers fetch nothing that would tell it.
      log?.noteEnd(end)
      if (atMs !== undefined) storedTimes.ended(atMs, end)
    },
    progress() {
      const position = writer.settledPosition()
      if (position !== undefined) storedTimes.settled(position, performance.now())
      return { storedToMs: storedTimes.storedToMs(questdb.watch.appliedMs()), toldPosition }
    },
    stop: () => writer.stop(stopLimitMs),
  }
}

const placeOf = ({ folder, partition }: KafkaPartitionParts) => ({ logFolder: folder, partition })

/** Opens the partition where the group has committed, or at its beginning. */
async function openLog(
  parts: KafkaPartitionParts,
  { untilAvailable, onRetry, onDamage }: PartitionTools,
): Promise<{ partition: KafkaPartition; log: PartitionLog }> {
  const { settings, group, logger } = parts
  const [committed, partition] = await untilAvailable(() =>
    Promise.all([group.committed(parts.partition), openKafkaPartition(settings, parts.partition)]),
  )
  const onCommitFailure = (error: unknown) => logger.warn({ detail: errorText(error) }, 'commit_failed')
  const store = openKafkaCheckpoints({
    start: committed ? decodeCheckpoint(committed) : startingAt(partition.beginning),
    commit: (offset) => group.commit(parts.partition, offset),
    onFailure: onCommitFailure,
  })
  const checkpoints = openCheckpoints({ store, mayWrite: () => true })
  const onFetchFailure = (error: unknown) => onRetry(errorText(error))
  function onKafkaDamage({ from, to, bytes }: KafkaDamage): void {
    if (bytes) saveDamagedBytes(placeOf(parts), from, bytes)
    onDamage({ from, to })
  }
  const log: PartitionLog = {
    tail: partition.tail,
    checkpoints,
    openReaders(from, earlierFrom) {
      const { position, counts } = checkpoints.current()
      const counted = { position, samples: counts.stored + counts.replaced + counts.deadLettered }
      return {
        reader: partition.openMainReader({ from, counted, onDamage: onKafkaDamage, onRetry: onFetchFailure }),
        ahead: partition.openReader({ from, onRetry: onFetchFailure }),
        earlier: partition.openReader({ from: earlierFrom, onRetry: onFetchFailure }),
      }
    },
    close: () => Promise.race([store.flush(), delay(commitLimitMs, undefined, { ref: false })]).catch(onCommitFailure),
  }
  return { partition, log }
}
