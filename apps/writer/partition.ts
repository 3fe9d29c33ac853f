import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '#http/request-log'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import { deadReportOf, saveDamagedBytes } from '#telemetry-log/dead-letters/dead-letters'
import {
  decodeCheckpoint,
  type KafkaCheckpoints,
  openKafkaCheckpoints,
  startingAt,
} from '#telemetry-log/kafka/kafka-checkpoints'
import type { KafkaGroup } from '#telemetry-log/kafka/kafka-group'
import { type KafkaPartition, openKafkaPartition } from '#telemetry-log/kafka/kafka-partition'
import type { KafkaDamage } from '#telemetry-log/kafka/kafka-reader'
import type { KafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import type { LogPosition } from '#telemetry-log/log'
import { createDeadLetterKeeper } from '#telemetry-writer/dead-letters/dead-letter-keeper'
import { createPartitionWriter, type PartitionReaders, type PartitionWriter } from '#telemetry-writer/partition-writer'
import { createStoredTimes } from '#telemetry-writer/recovery/stored-times'
import { createCleaningCounts } from '#telemetry-writer/reports/cleaning-counts'
import { decodeHere } from '#telemetry-writer/reports/decode-report'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import { type Checkpoints, openCheckpoints } from '#telemetry-writer/store/checkpoints'
import { createPatientSql } from '#telemetry-writer/store/patient-sql'
import { createSentRows } from '#telemetry-writer/store/sent-rows'
import { createRowStore } from '#telemetry-writer/store/store-rows'
import { createUntilAvailable } from '#telemetry-writer/store/until-available'
import { createAppliedPositions, type Questdb } from './questdb.ts'

export type PartitionFigures = {
  checkpoint: ReturnType<Checkpoints['current']>
  /** Reports that are not stored yet. */
  lag: number
  batches: number
  retries: number
  damages: number
  replays: number
  cleaned: ReturnType<ReturnType<typeof createCleaningCounts>['list']>
  rowsSent: ReturnType<ReturnType<typeof createSentRows>['list']>
}

export type WrittenPartition = {
  partition: number
  /** Undefined until the first report can be read. */
  figures(): PartitionFigures | undefined
  databaseRestarted(): void
  /** Ages the checkpoint. Call it every few seconds while the database is available. */
  keep(): void
  /** Returns a function that confirms what was told until now. */
  confirmation(): () => void
  /** Records where the partition ended at or after a time of Postgres' clock. */
  noteEnd(atMs: number, end: LogPosition): void
  /** See `CopyProgress`. */
  progress(): { storedToMs: number | undefined; toldPosition: LogPosition | undefined }
  /** Stores what was read, within limits of time, and commits. After that, another process may have the partition. */
  stop(): Promise<void>
}

export type PartitionParts = {
  partition: number
  settings: KafkaSettings
  group: KafkaGroup
  questdb: Questdb
  folder: string
  /** Receives changes by reports before a position. */
  onTold: (told: ToldByRows, position: LogPosition) => void
  /** Called if the partition fails for a reason that does not pass. */
  onFailure: (error: Error) => void
  logger: Logger
}

/** Together shorter than the group's session. What cannot be stored or committed in this time is stored by the next owner. */
const stopLimitMs = 4_000
const commitLimitMs = 2_000
/** How long to wait until queries return the rows of the previous owner. */
const appliedWithinMs = 30_000

/** Stores one partition until `stop`. Starts at once, and waits while the brokers or QuestDB do not respond. */
export function startPartition(parts: PartitionParts): WrittenPartition {
  const { partition, settings, group, questdb, folder, onTold } = parts
  const logger = parts.logger.child({ partition })
  const ending = new AbortController()
  const counted = { batches: 0, retries: 0, damages: 0, replays: 0 }
  const cleaning = createCleaningCounts()
  const sent = createSentRows()
  const applied = createAppliedPositions()
  let opened:
    | { writer: PartitionWriter; checkpoints: Checkpoints; store: KafkaCheckpoints; log: KafkaPartition }
    | undefined
  const storedTimes = createStoredTimes()
  let told: { number: number; position: LogPosition | undefined } = { number: 0, position: undefined }
  let toldPosition: LogPosition | undefined

  function onRetry(detail: string): void {
    counted.retries += 1
    logger.warn({ detail }, 'partition_waits')
  }
  const untilAvailable = createUntilAvailable(ending.signal, onRetry)
  const place = { logFolder: folder, partition }
  const deadLetters = createDeadLetterKeeper({ place, onRetry, signal: ending.signal })

  function onDamage({ from, to, bytes }: KafkaDamage): void {
    counted.damages += 1
    if (bytes) saveDamagedBytes(place, from, bytes)
    logger.error({ from, to, saved: bytes?.length }, 'log_damaged')
  }

  function openReaders(log: KafkaPartition, checkpoints: Checkpoints) {
    return (from: LogPosition, earlierFrom: LogPosition): PartitionReaders => {
      const { position, counts } = checkpoints.current()
      const samples = counts.stored + counts.replaced + counts.deadLettered
      const onFetchFailure = (error: unknown) => onRetry(detailOf(error))
      return {
        reader: log.openMainReader({ from, counted: { position, samples }, onDamage, onRetry: onFetchFailure }),
        ahead: log.openReader({ from, onRetry: onFetchFailure }),
        earlier: log.openReader({ from: earlierFrom, onRetry: onFetchFailure }),
      }
    }
  }

  async function open() {
    const [committed, log] = await untilAvailable(() =>
      Promise.all([group.committed(partition), openKafkaPartition(settings, partition)]),
    )
    const start = committed ? decodeCheckpoint(committed) : startingAt(log.beginning)
    const store = openKafkaCheckpoints({
      start,
      commit: (offset) => group.commit(partition, offset),
      onFailure: (error) => logger.warn({ detail: detailOf(error) }, 'commit_failed'),
    })
    const checkpoints = openCheckpoints({ store, mayWrite: () => true })
    const writer = createPartitionWriter({
      tail: log.tail,
      checkpoints,
      openReaders: openReaders(log, checkpoints),
      decode: decodeHere,
      questdb: createPatientSql(questdb.sql, untilAvailable),
      store: createRowStore({
        transport: questdb.transport,
        saveDeadRows: (rows) => {
          logger.error({ rows: rows.length, table: rows[0]?.table }, 'rows_set_aside')
          return deadLetters.keep(rows)
        },
        repairSchema: () => untilAvailable(questdb.repairSchema),
        onRetry,
        signal: ending.signal,
      }),
      cleaning,
      sent,
      serverStartMs: questdb.watch.serverStartMs,
      async untilApplied() {
        await untilAvailable(() => waitUntilApplied(questdb.sql, appliedWithinMs))
        await untilAvailable(questdb.watch.look)
      },
      onStored(changes, number, position) {
        told = { number, position }
        onTold(changes, position)
      },
      onBatch(position) {
        counted.batches += 1
        applied.stored(position)
      },
      onReplay(from) {
        counted.replays += 1
        logger.warn({ from }, 'database_restarted')
      },
      onFailure: {
        async report(batch, error) {
          const { deviceId, position, sampleCount } = batch
          await deadLetters.keep([deadReportOf(batch, detailOf(error), Date.now())])
          logger.error({ deviceId, position, samples: sampleCount, err: error }, 'report_set_aside')
        },
        device(deviceId, error) {
          logger.error({ deviceId, err: error }, 'device_realignment_failed')
        },
      },
    })
    opened = { writer, checkpoints, store, log }
    if (ending.signal.aborted) writer.stop()
    return writer
  }

  const running = open()
    .then((writer) => writer.run())
    .catch((error: unknown) => {
      // What could not be sent in time is in the log and is sent by the next owner.
      if (!ending.signal.aborted) parts.onFailure(error instanceof Error ? error : new Error(String(error)))
    })

  return {
    partition,
    figures() {
      if (!opened) return undefined
      const { checkpoints, log } = opened
      const checkpoint = checkpoints.current()
      const lag = Math.max(0, log.tail.position() - checkpoint.position)
      return { checkpoint, lag, ...counted, cleaned: cleaning.list(), rowsSent: sent.list() }
    },
    databaseRestarted() {
      storedTimes.restart()
      opened?.writer.databaseRestarted()
    },
    keep: () => opened?.writer.keep(applied.before(questdb.watch.appliedPosition())),
    confirmation() {
      const { number, position } = told
      return () => {
        opened?.writer.confirm(number)
        toldPosition = position
      }
    },
    noteEnd: storedTimes.ended,
    progress() {
      const position = opened?.writer.settledPosition()
      if (position !== undefined) storedTimes.settled(position, performance.now())
      return { storedToMs: storedTimes.storedToMs(questdb.watch.appliedPosition()), toldPosition }
    },
    async stop() {
      if (opened) opened.writer.stop()
      else ending.abort()
      await Promise.race([running, delay(stopLimitMs)])
      ending.abort()
      await running
      if (!opened) return
      opened.checkpoints.close()
      await Promise.race([opened.store.flush(), delay(commitLimitMs)]).catch((error: unknown) =>
        logger.warn({ detail: detailOf(error) }, 'commit_failed'),
      )
    },
  }
}

const detailOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
