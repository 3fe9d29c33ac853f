import { type MessagePort, Worker } from 'node:worker_threads'
import type { QuestdbServer } from '#questdb/server/servers'
import { readCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import type { Lease } from '#telemetry-log/lock/lease'
import type { LogPartition } from '#telemetry-log/segments/partitioned-log'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import { createActivity } from '#telemetry-writer/store/activity'
import type { FromWriter, ToWriter, WriterProgress, WriterSettings } from './messages.ts'

export type WriterHandle = {
  progress(): WriterProgress
  /** Resolves when the thread has ended without `stop`. */
  failed: Promise<Error>
  /** The number of the last `onStored`. */
  toldNumber(): number
  /** Confirms that Postgres has the changes of `onStored` up to this number, so that a later start need not repeat them. */
  confirm(toldNumber: number): void
  /** Tells it the organizations whose moments it must tell. */
  awaitMoments(organizations: readonly string[]): void
  /** Lets it finish what it is sending, for a moment, and keep a checkpoint. */
  stop(): Promise<void>
}

const stopLimitMs = 5_000
/** Without a limit, young objects keep up to 64 MiB; the old ones have the room that Node gives them. */
const threadLimits = { maxYoungGenerationSizeMb: 24 }

export type WriterParts = {
  logLevel: string
  questdb: QuestdbServer
  retentionDays: number
  schemaMemory: SharedArrayBuffer
  partition: LogPartition
  lease: Lease
  earlyDeletionBytes: number
  /** Leads to the thread that decodes dense bodies. */
  decoding: MessagePort
  onStored: (told: ToldByRows) => void
}

/** Starts the writer thread of a partition. It shares only the partition's files and the position of its end. */
export function startWriterThread(parts: WriterParts): WriterHandle {
  const { logLevel, retentionDays, schemaMemory, partition, lease, earlyDeletionBytes, decoding, onStored } = parts
  const { url, pgUrl, user, password } = parts.questdb
  const settings: WriterSettings = {
    place: partition.place,
    tailMemory: partition.tailMemory,
    lease,
    earlyDeletionBytes,
    questdb: { url, pgUrl, user, password: password.reveal() },
    retentionDays,
    schemaMemory,
    decoding,
    logLevel,
  }
  const kept = readCheckpoint(partition.place.folder)
  let progress: WriterProgress = {
    position: kept?.position ?? 0,
    counts: kept?.counts ?? { stored: 0, replaced: 0, deadLettered: 0 },
    ...createActivity(),
    cleaned: [],
    suspendedTables: 0,
  }
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    name: `writer-${partition.place.partition}`,
    workerData: settings,
    transferList: [decoding],
    resourceLimits: threadLimits,
  })
  let stopping = false
  let toldNumber = 0
  let confirmedNumber = 0
  const stopped = Promise.withResolvers<void>()
  const failed = new Promise<Error>((resolve) => {
    worker.on('error', (error) => {
      if (!stopping) resolve(error instanceof Error ? error : new Error('The writer thread failed.'))
    })
    worker.on('exit', () => {
      stopped.resolve()
      if (!stopping) resolve(new Error('The writer thread ended.'))
    })
  })
  worker.on('message', (message: FromWriter) => {
    if (message.kind === 'progress') progress = message.progress
    else if (message.kind === 'stored') {
      toldNumber = message.number
      onStored(message.told)
    } else stopped.resolve()
  })
  return {
    progress: () => progress,
    failed,
    toldNumber: () => toldNumber,
    confirm(number) {
      if (number <= confirmedNumber || stopping) return
      confirmedNumber = number
      worker.postMessage({ kind: 'confirm', number } satisfies ToWriter)
    },
    awaitMoments(organizations) {
      if (!stopping) worker.postMessage({ kind: 'await', organizations } satisfies ToWriter)
    },
    async stop() {
      stopping = true
      worker.postMessage({ kind: 'stop' } satisfies ToWriter)
      const limit = setTimeout(stopped.resolve, stopLimitMs)
      await stopped.promise
      clearTimeout(limit)
      await worker.terminate()
    },
  }
}
