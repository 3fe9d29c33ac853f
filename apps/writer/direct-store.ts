import { pause } from '#core/schedule'
import type { Logger } from '#http/request-log'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import type { DeadRow } from '#telemetry-log/dead-letters/dead-letters'
import { startingAt } from '#telemetry-log/kafka/kafka-checkpoints'
import type { TelemetryBatch } from '#telemetry-log/log'
import { openMemoryLog } from '#telemetry-log/memory-log'
import { createPartitionWriter } from '#telemetry-writer/partition-writer'
import { createCleaningCounts } from '#telemetry-writer/reports/cleaning-counts'
import { decodeHere } from '#telemetry-writer/reports/decode-report'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import { openCheckpoints } from '#telemetry-writer/store/checkpoints'
import { createPatientSql } from '#telemetry-writer/store/patient-sql'
import { createSentRows } from '#telemetry-writer/store/sent-rows'
import { createRowStore } from '#telemetry-writer/store/store-rows'
import { createUntilAvailable } from '#telemetry-writer/store/until-available'
import type { Questdb } from './questdb.ts'

/** Stores reports in QuestDB as a writer does, without a topic. */
export type DirectStore = {
  /** Resolves when the rows of the report are stored. Rejects if the report cannot be processed. */
  store(batch: TelemetryBatch): Promise<void>
  /** Resolves when everything is stored and realigned. Rejects if the store has failed. */
  close(): Promise<void>
}

const appliedWithinMs = 30_000
const pollMs = 100

type Waiting = { position: number; resolve: () => void; reject: (error: Error) => void }

/** Opens a store whose reports go through a pipeline of their own. No writer may store the same devices meanwhile. */
export function openDirectStore(parts: {
  questdb: Questdb
  /** Keeps rows that QuestDB rejects. */
  saveDeadRows: (rows: readonly DeadRow[]) => Promise<void>
  onStored: (told: ToldByRows) => void
  logger: Logger
}): DirectStore {
  const { questdb, saveDeadRows, onStored, logger } = parts
  const ending = new AbortController()
  const onRetry = (detail: string) => logger.warn({ detail }, 'replay_waits')
  const untilAvailable = createUntilAvailable(ending.signal, onRetry)
  const log = openMemoryLog()
  const refused = new Map<number, Error>()
  let waiting: Waiting[] = []

  /** Settles the reports before a position. */
  function settle(position: number): void {
    const settled = waiting.filter((one) => one.position < position)
    waiting = waiting.filter((one) => one.position >= position)
    for (const one of settled) {
      const error = refused.get(one.position)
      if (error) one.reject(error)
      else one.resolve()
      refused.delete(one.position)
    }
    log.forget(position)
  }

  const store = { read: () => startingAt(0), write: () => true, release: () => {} }
  const writer = createPartitionWriter({
    tail: log.tail,
    checkpoints: openCheckpoints({ store, mayWrite: () => true }),
    openReaders: (from, earlierFrom) => ({
      reader: log.openReader(from),
      ahead: log.openReader(from),
      earlier: log.openReader(earlierFrom),
    }),
    decode: decodeHere,
    questdb: createPatientSql(questdb.sql, untilAvailable),
    store: createRowStore({
      transport: questdb.transport,
      saveDeadRows,
      repairSchema: () => untilAvailable(questdb.repairSchema),
      onRetry,
      signal: ending.signal,
    }),
    cleaning: createCleaningCounts(),
    sent: createSentRows(),
    serverStartMs: () => undefined,
    untilApplied: async () => void (await untilAvailable(() => waitUntilApplied(questdb.sql, appliedWithinMs))),
    onStored(told, number) {
      onStored(told)
      writer.confirm(number)
    },
    onBatch: settle,
    onReplay() {},
    onFailure: {
      report({ position }, error) {
        refused.set(position, error instanceof Error ? error : new Error(String(error)))
      },
      device: (deviceId, error) => logger.error({ deviceId, err: error }, 'device_realignment_failed'),
    },
  })
  let failure: Error | undefined
  const running = writer.run().catch((error: unknown) => {
    failure = error instanceof Error ? error : new Error(String(error))
    for (const { reject } of waiting) reject(failure)
    waiting = []
  })

  return {
    store(batch) {
      if (failure) return Promise.reject(failure)
      return new Promise((resolve, reject) => {
        waiting.push({ position: log.tail.position(), resolve, reject })
        log.append(batch)
      })
    },
    async close() {
      while (!failure && (waiting.length > 0 || writer.hasUnfinished())) await pause(pollMs)
      writer.stop()
      await running
      ending.abort()
      if (failure) throw failure
    },
  }
}
