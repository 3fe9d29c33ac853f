import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { BatchRows, RowBatch } from './row-batch.ts'
import type { RowStore } from './store-rows.ts'

export type FlushScheduler = {
  /** Records that reports were processed or rows were added since the last flush. */
  noteAdded(): void
  hasWaiting(): boolean
  /** Starts a flush if one is due. Waits for the flush in progress if too many rows wait. Throws errors of storing. */
  flushWhenDue(): Promise<void>
  /** Flushes everything and waits until it is stored. Throws errors of storing. */
  flushAll(): Promise<void>
  isFull(): boolean
  /** Returns how long to wait for the next flush, in milliseconds; undefined if nothing waits. */
  dueInMs(): number | undefined
  /** Returns how long reports may wait to be read without a later flush, in milliseconds, if there are only few of them. */
  restMs(): number
  /** Resolves when the flush in progress ends; undefined if there is none. */
  inProgress(): Promise<void> | undefined
}

export type FlushSchedulerParts = {
  rows: RowBatch
  store: RowStore
  /** True while so many bytes wait in the log that larger and fewer flushes store them sooner. */
  isBacklogged: () => boolean
  /** True while the writer does not keep up, for example because it restores states. Fewer flushes let it catch up sooner. */
  isBehind: () => boolean
  /** The number of devices that report. */
  devices: () => number
  /** Called when a flush starts, with its rows. What it returns is called when they are stored. */
  onFlush: (tables: readonly BatchRows[]) => (stored: readonly SampleCounts[]) => void
}

const flushAfterMs = 100
/**
 * Each flush is a commit to each table, which QuestDB merges into the partitions; its cost hardly depends on the rows. Few
 * rows therefore wait longer, but not so long that a sample needs more than 3 s until queries return it. Many rows wait so
 * long that it needs less than 2 s.
 */
const pauseMs = { fewRows: 2_750, manyRows: 1_000 }
const manyRows = 4_000
/** Each commit writes the index of the devices again, so a commit of a large fleet costs more, and there are fewer of them. */
const devicesPerPauseMs = 100
const flushBytes = 4 * 1024 ** 2
const backlogFlushBytes = 16 * 1024 ** 2

/**
 * Decides when collected rows are sent, and sends them. One flush is in progress at a time, so that a later row of the
 * same key also arrives later; the next rows are collected meanwhile.
 */
export function createFlushScheduler({
  rows,
  store,
  isBacklogged,
  isBehind,
  devices,
  onFlush,
}: FlushSchedulerParts): FlushScheduler {
  // Monotonic times: the wall clock may be set back.
  let firstAddedAtMs: number | undefined
  let lastFlushAtMs = Number.NEGATIVE_INFINITY
  let inProgress: Promise<void> | undefined
  let failure: { error: unknown } | undefined

  function start(): void {
    const tables = rows.take()
    const onStored = onFlush(tables)
    firstAddedAtMs = undefined
    lastFlushAtMs = performance.now()
    inProgress = Promise.all(tables.map((table) => store.store(table))).then(
      (stored) => {
        inProgress = undefined
        onStored(stored)
      },
      (error: unknown) => {
        failure = { error }
      },
    )
  }

  function dueInMs(): number | undefined {
    if (firstAddedAtMs === undefined) return undefined
    // A flush delays the reports that wait. Rows of a restarted writer should be visible soon nevertheless.
    const isSoon = rows.rowCount() >= manyRows && !isBehind()
    const soonMs = Math.max(pauseMs.manyRows, devices() / devicesPerPauseMs)
    const betweenMs = isSoon ? Math.min(soonMs, pauseMs.fewRows) : pauseMs.fewRows
    return Math.max(firstAddedAtMs + flushAfterMs, lastFlushAtMs + betweenMs) - performance.now()
  }

  function isDue(): boolean {
    const waitMs = dueInMs()
    if (waitMs === undefined) return false
    return waitMs <= 0 || rows.largestBytes() >= (isBacklogged() ? backlogFlushBytes : flushBytes)
  }

  return {
    noteAdded() {
      firstAddedAtMs ??= performance.now()
    },
    hasWaiting: () => firstAddedAtMs !== undefined,
    async flushWhenDue() {
      if (failure) throw failure.error
      if (!isDue()) return
      if (inProgress && rows.largestBytes() < backlogFlushBytes) return
      await inProgress
      start()
    },
    async flushAll() {
      if (firstAddedAtMs !== undefined) {
        await inProgress
        start()
      }
      await inProgress
      if (failure) throw failure.error
    },
    isFull: () => rows.largestBytes() >= flushBytes,
    dueInMs,
    restMs: () => Math.max(0, lastFlushAtMs + pauseMs.fewRows - flushAfterMs - performance.now()),
    inProgress: () => inProgress,
  }
}
