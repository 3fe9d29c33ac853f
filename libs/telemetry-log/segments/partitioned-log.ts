import { existsSync } from 'node:fs'
import { preparePrivateFolder } from '#files/private-folder'
import type { Lease } from '#telemetry-log/lock/lease'
import { type FolderLock, lockFolder } from '#telemetry-log/lock/lock'
import { LogFullError, LogLayoutError, type TelemetryLog } from '#telemetry-log/log'
import { partitionOf } from '#telemetry-log/partition'
import { recoverPartitions, unstoredSamples, writePartitions } from './change-partitions.ts'
import {
  deletePartitions,
  deletePrevious,
  isEmpty,
  type Layout,
  nextLayout,
  type PartitionPlace,
  placesOf,
  readLayout,
  refuseStraySegments,
  writeLayout,
} from './layout.ts'
import { openSegmentLog, type SegmentLog } from './segment-log.ts'
import { createSharedTailMemory, openSharedTail } from './shared-tail.ts'
import { isShortage } from './shortage.ts'

/** One partition. `tailMemory`: its durable end, for `openSharedTail` in the thread of its writer. */
export type LogPartition = { place: PartitionPlace; log: SegmentLog; tailMemory: SharedArrayBuffer }

export type PartitionedLog = TelemetryLog & {
  /** The partitions, by number. */
  all: readonly LogPartition[]
  /** The right to write in the folder of the log, for other threads of this process. */
  lease: Lease
  partitionOf(deviceId: string): LogPartition
}

export type PartitionedLogOptions = {
  folder: string
  /** Default: the number that the log has. */
  partitions?: number | undefined
  /** The default for a log that does not exist yet. */
  partitionsIfNew?: number
  /** The size of a segment if there is one partition. With more partitions, segments are smaller. */
  maxSegmentBytes?: number
}

const mebibyte = 1024 ** 2
const smallestSegmentBytes = 64 * 1024
/** Limits for the appends that wait for a sync, shared by all partitions. */
const maxWaiting = { bytes: 16 * mebibyte, reports: 16_384 }

/**
 * Opens the telemetry log in segment files: one folder for each partition below `folder`, and one lock for all. A log of an
 * earlier version has one partition, in `folder` itself. Each partition commits its appends by itself.
 *
 * Changes the number of partitions if everything is stored, and throws LogLayoutError otherwise. Throws LogInUseError if
 * another process uses the folder.
 */
export async function openPartitionedLog(options: PartitionedLogOptions): Promise<PartitionedLog> {
  const { folder } = options
  preparePrivateFolder(folder)
  const lock = await lockFolder(folder)
  try {
    const layout = await layoutFor(options, lock)
    return await openPartitions(placesOf(folder, layout), lock, options)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Throws LogLayoutError if the segment files in the folder have samples that are not stored: with a log on Kafka, nothing
 * reads them. Throws LogInUseError if another process writes them.
 */
export async function refuseUnstoredSegments(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const layout = readLayout(folder)
  if (placesOf(folder, layout).every(isEmpty)) return
  const lock = await lockFolder(folder)
  try {
    const unstored = sumOfUnstored(await recoverPartitions(folder, layout, lock))
    if (unstored > 0) throw new LogLayoutError(notReadOnKafka(folder, unstored))
  } finally {
    await lock.release()
  }
}

const sumOfUnstored = (partitions: readonly Parameters<typeof unstoredSamples>[0][]): number =>
  partitions.reduce((sum, partition) => sum + unstoredSamples(partition), 0)

const notReadOnKafka = (folder: string, samples: number): string =>
  `The telemetry log cannot be on Kafka yet: ${folder} has ${samples} samples that are not stored. Start without KAFKA_BROKERS, wait until telemetry_backlog_samples is 0, stop, and start with KAFKA_BROKERS.`

async function layoutFor(options: PartitionedLogOptions, lock: FolderLock): Promise<Layout> {
  const { folder, partitionsIfNew = 1 } = options
  const layout = deletePrevious(folder, readLayout(folder))
  refuseStraySegments(folder, layout)
  const isNew = placesOf(folder, layout).every(isEmpty)
  const partitions = options.partitions ?? (isNew ? partitionsIfNew : layout.partitions)
  if (partitions === layout.partitions) return layout
  const before = isNew ? [] : await recoverPartitions(folder, layout, lock)
  const unstored = sumOfUnstored(before)
  if (unstored > 0) throw new LogLayoutError(notStored(folder, layout.partitions, partitions, unstored))
  const next = nextLayout(layout, partitions)
  deletePartitions(folder, next.folder)
  if (!isNew) await writeNext(folder, layout, next, () => writePartitions(before, placesOf(folder, next), lock))
  writeLayout(folder, next)
  return deletePrevious(folder, next)
}

async function writeNext(folder: string, layout: Layout, next: Layout, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    deletePartitions(folder, next.folder)
    if (!isShortage(error) && !(error instanceof LogFullError)) throw error
    throw new LogLayoutError(
      `LOG_PARTITIONS cannot be ${next.partitions}: the disk has no room for a copy of the recent reports in ${folder}. Start with LOG_PARTITIONS=${layout.partitions}, or free disk space.`,
    )
  }
}

const notStored = (folder: string, present: number, wanted: number, samples: number): string =>
  `LOG_PARTITIONS cannot be ${wanted}: the telemetry log ${folder} has LOG_PARTITIONS=${present} and ${samples} samples that are not stored. Start with LOG_PARTITIONS=${present}, wait until telemetry_backlog_samples is 0, stop, and start with LOG_PARTITIONS=${wanted}.`

async function openPartitions(
  places: readonly PartitionPlace[],
  lock: FolderLock,
  { maxSegmentBytes = 64 * mebibyte }: PartitionedLogOptions,
): Promise<PartitionedLog> {
  const all: LogPartition[] = []
  try {
    for (const place of places) all.push(await openPartition(place))
  } catch (error) {
    for (const { log } of all) await log.close()
    throw error
  }

  async function openPartition(place: PartitionPlace): Promise<LogPartition> {
    const tailMemory = createSharedTailMemory()
    const tail = openSharedTail(tailMemory)
    const log = await openSegmentLog({
      folder: place.folder,
      deadLetters: place,
      lock,
      maxSegmentBytes: Math.max(smallestSegmentBytes, Math.floor(maxSegmentBytes / places.length)),
      maxWaitingBytes: Math.floor(maxWaiting.bytes / places.length),
      maxWaitingReports: Math.floor(maxWaiting.reports / places.length),
      onTail: ({ position }) => tail.publish(position),
    })
    return { place, log, tailMemory }
  }

  function of(deviceId: string): LogPartition {
    const partition = all[partitionOf(deviceId, all.length)]
    if (!partition) throw new Error('The telemetry log has no partitions.')
    return partition
  }

  return {
    partitions: all.length,
    all,
    lease: lock.lease,
    partitionOf: of,
    append: (batch) => of(batch.deviceId).log.append(batch),
    failed: Promise.race(all.map(({ log }) => log.failed)),
    async drain() {
      await Promise.all(all.map(({ log }) => log.drain()))
    },
    async close() {
      await Promise.all(all.map(({ log }) => log.close()))
      await lock.release()
    },
  }
}
