import { toError } from '#core/error-text'
import { pause } from '#core/schedule'
import type { Logger } from '#http/request-log'
import type { DeadLetterPlace, DeadRow } from '#telemetry-log/dead-letters/dead-letters'
import { startingAt } from '#telemetry-log/kafka/kafka-checkpoints'
import type { TelemetryBatch } from '#telemetry-log/log'
import { openMemoryLog } from '#telemetry-log/memory-log'
import { openPartition } from '#telemetry-writer/open-partition'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import { openCheckpoints } from '#telemetry-writer/store/checkpoints'
import type { WatchedQuestdb } from '#telemetry-writer/watched-questdb'

/** Stores reports in QuestDB as a writer does, without a topic. */
export type DirectStore = {
  /** Resolves when the rows of the report are stored. Rejects if the report cannot be processed. */
  store(batch: TelemetryBatch): Promise<void>
  /** Resolves when everything is stored and realigned. Rejects if the store has failed. */
  close(): Promise<void>
}

const pollMs = 100

type Waiting = { position: number; resolve: () => void; reject: (error: Error) => void }

/** Opens a store whose reports go through a pipeline of their own. No writer may store the same devices meanwhile. */
export function openDirectStore(parts: {
  questdb: WatchedQuestdb
  /** Where rows go that QuestDB rejects. */
  place: DeadLetterPlace
  onDeadRows: (rows: readonly DeadRow[]) => void
  onStored: (told: ToldByRows) => void
  logger: Logger
}): DirectStore {
  const { questdb, place, onDeadRows, onStored, logger } = parts
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
  const writer = openPartition({
    place,
    questdb,
    logger,
    openLog: async () => ({
      tail: log.tail,
      checkpoints: openCheckpoints({ store, mayWrite: () => true }),
      openReaders: (from, earlierFrom) => ({
        reader: log.openReader(from),
        ahead: log.openReader(from),
        earlier: log.openReader(earlierFrom),
      }),
    }),
    onStored(told, number) {
      onStored(told)
      writer.confirm(number)
    },
    onBatch: settle,
    onDeadRows,
    onFailedReport: ({ position }, error) => void refused.set(position, toError(error)),
  })
  let failure: Error | undefined
  writer.running.catch((error: unknown) => {
    failure = toError(error)
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
      await writer.stop()
      if (failure) throw failure
    },
  }
}
