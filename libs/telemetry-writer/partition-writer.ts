import { setTimeout as delay } from 'node:timers/promises'
import type { StatesReference } from '#telemetry-log/checkpoints/checkpoint'
import type { LogPosition } from '#telemetry-log/log'
import { createUnconfirmedNews } from '#telemetry-writer/reports/unconfirmed-news'
import { hasChanges, type ToldByRows } from '#telemetry-writer/states/device-reports'
import type { StateFile } from '#telemetry-writer/states/state-file'
import type { Checkpoints } from '#telemetry-writer/store/checkpoints'
import { createPipeline, type Pipeline, type PipelineParts } from './pipeline.ts'

/** Readers of one partition, for one pipeline. */
type PartitionReaders = Pick<PipelineParts, 'reader' | 'ahead' | 'earlier'>

/** What all pipelines of a partition share, and what gives each pipeline the rest. */
export type PartitionWriterParts = Omit<
  PipelineParts,
  keyof PartitionReaders | 'checkpoint' | 'stateFile' | 'onStored'
> & {
  checkpoints: Checkpoints
  /** Opens the readers: `reader` and `ahead` at `from`, `earlier` at `earlierFrom`. */
  openReaders: (from: LogPosition, earlierFrom: LogPosition) => PartitionReaders
  /** Start time of the QuestDB server. */
  serverStartMs: () => number | undefined
  /** Resolves when queries return the rows that were sent before, or after a while. */
  untilApplied: () => Promise<void>
  /** Receives changes by stored rows of reports before a position. `confirm` this number when Postgres has them. */
  onStored: (told: ToldByRows, number: number, position: LogPosition) => void
  /** Called with the position before which all rows are stored now. */
  onBatch?: (position: LogPosition) => void
  onReplay: (from: LogPosition) => void
  /** Opens a file that keeps the states of devices, so that the next process need not restore them. Without it, none are kept. */
  openStates?: (reference: StatesReference | undefined) => StateFile
}

export type PartitionWriter = Pick<Pipeline, 'hasUnfinished'> & {
  /** Reads and stores until `stop`. Rejects if a failure is not temporary, and if the parts' statements are aborted. */
  run(): Promise<void>
  /** Lets `run` store what it has read and end. */
  stop(): void
  /** Sends everything again that a restarted QuestDB may have lost. */
  databaseRestarted(): void
  /**
   * Ages the checkpoint while no rows are stored. Call it every few seconds while the database is available. `appliedMs`: see
   * `Pipeline`.
   */
  keep(appliedMs: number): void
  /** Records that Postgres has the changes of `onStored` up to this number. */
  confirm(number: number): void
  /** Everything before this position is stored. Undefined while it is not known, for example after a restart of QuestDB. */
  settledPosition(): LogPosition | undefined
}

/** Stores one partition through a pipeline, and again from an earlier position after each restart of QuestDB. */
export function createPartitionWriter(parts: PartitionWriterParts): PartitionWriter {
  const { checkpoints, openReaders, openStates, onStored, onBatch, onReplay, serverStartMs, untilApplied } = parts
  const news = createUnconfirmedNews()
  let pipeline: Pipeline | undefined
  /** Of the last rows that the pipeline stored; undefined before that. */
  let stored: { unfinishedPosition: LogPosition | undefined } | undefined
  let isStopping = false

  /** Where the next start must read from, unless QuestDB lost rows. Everything before is stored and reported to Postgres. */
  const resumePosition = (position: LogPosition): LogPosition =>
    Math.min(position, stored?.unfinishedPosition ?? position, news.oldest() ?? position)

  /** Runs a pipeline until the database restarts. First sends everything again that the database may have lost. */
  async function runOnce(): Promise<void> {
    const checkpoint = checkpoints.current()
    checkpoints.beginReplay()
    stored = undefined
    const startedAtMs = serverStartMs()
    const readers = openReaders(checkpoints.readPosition(startedAtMs), checkpoints.readPosition(undefined))
    // Another server may lack rows that the states include.
    const isSameServer = startedAtMs !== undefined && checkpoint.serverStartMs === startedAtMs
    const stateFile = openStates?.(isSameServer ? checkpoint.states : undefined)
    const running = createPipeline({
      ...parts,
      ...readers,
      checkpoint,
      stateFile,
      onStored(position, counts, told, unfinishedPosition) {
        stored = { unfinishedPosition }
        const fromPosition = checkpoints.current().position
        if (hasChanges(told)) onStored(told, news.sent(fromPosition), position)
        const resume = {
          serverStartMs: startedAtMs,
          resumePosition: resumePosition(position),
          states: stateFile?.flush(),
        }
        checkpoints.advance(position, counts, resume)
        stateFile?.release(checkpoints.written().states)
        onBatch?.(position)
      },
    })
    pipeline = running
    try {
      if (!isStopping) await running.run()
    } finally {
      for (const reader of Object.values(readers)) reader.close()
      stateFile?.close()
    }
  }

  return {
    async run() {
      for (; !isStopping; await delay(1)) {
        // The delay: a pipeline that ends immediately must not keep the event loop busy.
        await untilApplied()
        await runOnce()
        if (!isStopping) onReplay(checkpoints.readPosition(undefined))
      }
    },
    stop() {
      isStopping = true
      pipeline?.stop()
    },
    databaseRestarted() {
      checkpoints.databaseRestarted()
      pipeline?.stop()
      // What this pipeline has stored may be lost.
      pipeline = undefined
    },
    keep(appliedMs) {
      // Until the pipeline has caught up with the checkpoint, it may not have found all that was unfinished.
      if (stored) checkpoints.resumeFrom(resumePosition(checkpoints.current().position))
      checkpoints.keep()
      pipeline?.forget(appliedMs)
    },
    confirm: news.confirm,
    settledPosition: () => pipeline?.settledPosition(),
    hasUnfinished: () => pipeline?.hasUnfinished() ?? false,
  }
}
