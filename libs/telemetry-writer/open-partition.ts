import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '#core/error-text'
import type { Logger } from '#http/request-log'
import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import { type DeadLetterPlace, type DeadRow, deadReportOf } from '#telemetry-log/dead-letters/dead-letters'
import type { LoggedBatch, LogPosition, PartitionTail } from '#telemetry-log/log'
import { createDeadLetterKeeper } from './dead-letters/dead-letter-keeper.ts'
import { createPartitionWriter, type PartitionWriter, type PartitionWriterParts } from './partition-writer.ts'
import { type CleanedCount, createCleaningCounts } from './reports/cleaning-counts.ts'
import { type DecodeReport, decodeHere } from './reports/decode-report.ts'
import { type Activity, createActivity } from './store/activity.ts'
import type { Checkpoints } from './store/checkpoints.ts'
import { createPatientSql } from './store/patient-sql.ts'
import { createRowStore } from './store/store-rows.ts'
import { createUntilAvailable, type UntilAvailable } from './store/until-available.ts'
import type { WatchedQuestdb } from './watched-questdb.ts'

/*
 * The writer of one partition, from its log to its rows. Read first: this file, which joins the parts; `partition-writer.ts`,
 * which starts again after a restart of QuestDB; `pipeline.ts`, which reads, processes and stores.
 */

/** The log of a partition, as its writer reads it and records its place in it. */
export type PartitionLog = Pick<PartitionWriterParts, 'openReaders' | 'openStates'> & {
  tail: PartitionTail
  checkpoints: Checkpoints
  /** Called when nothing is stored any more and the last checkpoint was written. */
  close?(): Promise<void>
}

/** What a log may use while it is opened and read. Retries and damages are counted and logged. */
export type PartitionTools = {
  untilAvailable: UntilAvailable
  onRetry(detail: string): void
  onDamage(damage: { from: LogPosition; to: LogPosition }): void
}

type PartitionParts = Pick<PartitionWriterParts, 'onStored' | 'onBatch' | 'isAwaited'> & {
  /** Where the dead letters go. */
  place: DeadLetterPlace
  questdb: WatchedQuestdb
  logger: Logger
  openLog: (tools: PartitionTools) => Promise<PartitionLog>
  /** Repeated until it succeeds, before the first report is read. */
  prepare?: () => Promise<void>
  /** Default: in this thread. */
  decode?: DecodeReport
  /** Called before rejected rows go to the dead letters. */
  onDeadRows?: (rows: readonly DeadRow[]) => void
  /** Receives a report that cannot be processed. Default: it goes to the dead letters. */
  onFailedReport?: (batch: LoggedBatch, error: unknown) => void
}

/** What a writer has done. Everything before `position` is stored, with these `counts` since the log began. */
export type PartitionFigures = Activity & { position: LogPosition; counts: SampleCounts; cleaned: CleanedCount[] }

export type OpenPartition = Pick<PartitionWriter, 'confirm' | 'settledPosition' | 'hasUnfinished'> & {
  /** Resolves after `stop`. Rejects if the partition fails for a reason that does not pass. */
  running: Promise<void>
  /** Undefined until the log is open. */
  figures(): PartitionFigures | undefined
  /** Ages the checkpoint, and stores again after a restart. Call it every few seconds while the database responds. */
  follow(isRestarted: boolean): void
  /** Stores what was read, and writes the checkpoint. What is not stored within the limit is stored by the next owner. */
  stop(limitMs?: number): Promise<void>
}

/** How long to wait until queries return the rows that were sent before the start. */
const appliedWithinMs = 30_000
const lookEveryMs = 200

/** Stores one partition until `stop`. Starts at once, and waits while the log or QuestDB does not respond. */
export function openPartition(parts: PartitionParts): OpenPartition {
  const { questdb, logger, onStored, onBatch } = parts
  const ending = new AbortController()
  const [activity, cleaning] = [createActivity(), createCleaningCounts()]
  const { onRetry, onDamage, onReplay } = createInterruptions(activity, logger)
  let isStopping = false
  let opened: { writer: PartitionWriter; log: PartitionLog } | undefined

  const untilAvailable = createUntilAvailable(ending.signal, onRetry)
  const storing = createStoring({ ...parts, untilAvailable, onRetry, signal: ending.signal })

  async function untilApplied(): Promise<void> {
    const startedMs = performance.now()
    while (!isStopping && performance.now() - startedMs < appliedWithinMs) {
      await untilAvailable(questdb.watch.look)
      if (questdb.watch.appliedMs() >= startedMs) return
      await delay(lookEveryMs)
    }
  }

  async function run(): Promise<void> {
    const log = await parts.openLog({ untilAvailable, onRetry, onDamage })
    const writer = createPartitionWriter({
      ...log,
      ...storing,
      decode: parts.decode ?? decodeHere,
      cleaning,
      activity,
      serverStartMs: questdb.watch.serverStartMs,
      untilApplied,
      onStored,
      onBatch(position) {
        activity.batches += 1
        onBatch?.(position)
      },
      onReplay,
      isAwaited: parts.isAwaited,
    })
    opened = { writer, log }
    if (isStopping) writer.stop()
    if (parts.prepare) await untilAvailable(parts.prepare)
    await writer.run()
  }

  const running = run().catch((error: unknown) => {
    // What could not be sent in time is in the log and is sent by the next owner.
    if (!ending.signal.aborted) throw error
  })

  return {
    running,
    figures() {
      if (!opened) return undefined
      const { position, counts } = opened.log.checkpoints.current()
      return { position, counts, ...activity, cleaned: cleaning.list() }
    },
    follow(isRestarted) {
      if (isRestarted) opened?.writer.databaseRestarted()
      else opened?.writer.keep(questdb.watch.appliedMs())
    },
    confirm: (number) => opened?.writer.confirm(number),
    settledPosition: () => opened?.writer.settledPosition(),
    hasUnfinished: () => opened?.writer.hasUnfinished() ?? false,
    async stop(limitMs) {
      isStopping = true
      if (opened) opened.writer.stop()
      else ending.abort()
      const ended = running.catch(() => {})
      await (limitMs === undefined ? ended : Promise.race([ended, delay(limitMs, undefined, { ref: false })]))
      ending.abort()
      await ended
      opened?.log.checkpoints.close()
      await opened?.log.close?.()
    },
  }
}

/** Counts and logs what interrupts a writer. */
function createInterruptions(activity: Activity, logger: Logger) {
  return {
    onRetry(detail: string) {
      activity.retries += 1
      logger.warn({ detail }, 'partition_waits')
    },
    onDamage(damage: { from: LogPosition; to: LogPosition }) {
      activity.damages += 1
      logger.error(damage, 'log_damaged')
    },
    onReplay(from: LogPosition) {
      activity.replays += 1
      logger.warn({ from }, 'database_restarted')
    },
  }
}

type StoringParts = Pick<PartitionParts, 'place' | 'questdb' | 'logger' | 'onDeadRows' | 'onFailedReport'> & {
  untilAvailable: UntilAvailable
  onRetry: (detail: string) => void
  signal: AbortSignal
}

/** How a writer stores rows, reads the database, and keeps what cannot be stored. */
function createStoring(parts: StoringParts): Pick<PartitionWriterParts, 'questdb' | 'store' | 'onFailure'> {
  const { place, questdb, logger, untilAvailable, onRetry, signal, onDeadRows, onFailedReport } = parts
  const deadLetters = createDeadLetterKeeper({ place, onRetry, signal })
  return {
    questdb: createPatientSql(questdb.sql, untilAvailable),
    store: createRowStore({
      transport: questdb.transport,
      saveDeadRows(rows) {
        onDeadRows?.(rows)
        logger.error({ rows: rows.length, table: rows[0]?.table }, 'rows_set_aside')
        return deadLetters.keep(rows)
      },
      repairSchema: () => untilAvailable(questdb.repairSchema),
      onRetry,
      signal,
    }),
    onFailure: {
      async report(batch, error) {
        if (onFailedReport) return onFailedReport(batch, error)
        const { deviceId, position, sampleCount } = batch
        await deadLetters.keep([deadReportOf(batch, errorText(error), Date.now())])
        logger.error({ deviceId, position, samples: sampleCount, err: error }, 'report_set_aside')
      },
      device(deviceId, error) {
        logger.error({ deviceId, err: error }, 'device_realignment_failed')
      },
    },
  }
}
