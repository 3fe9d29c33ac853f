import { closeSync } from 'node:fs'
import { zstdCompressSync } from 'node:zlib'
import { preparePrivateFolder } from '#files/private-folder'
import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import { replayStart } from '#telemetry-log/checkpoints/checkpoint'
import { readCheckpoint, writeCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import type { FolderLock } from '#telemetry-log/lock/lock'
import type { LoggedBatch, LogTail, TelemetryBatch } from '#telemetry-log/log'
import { partitionOf } from '#telemetry-log/partition'
import { isEmpty, type Layout, type PartitionPlace, placesOf } from './layout.ts'
import { openSegmentLog, type SegmentLog } from './segment-log.ts'
import { openSegmentReader } from './segment-reader.ts'
import { createSegment, segmentHeaderBytes } from './segments.ts'

const noSamples: SampleCounts = { stored: 0, replaced: 0, deadLettered: 0 }
const chunkBytes = 2 * 1024 ** 2
/** Larger bodies are compressed: the reader has decompressed those that the log stored compressed. */
const compressedFromBytes = 64 * 1024

/** A partition that no writer reads at present, and its end. */
type Partition = { place: PartitionPlace; tail: LogTail }

/** Recovers the partitions of a layout and returns where they end. */
export async function recoverPartitions(logFolder: string, layout: Layout, lock: FolderLock): Promise<Partition[]> {
  const partitions: Partition[] = []
  for (const place of placesOf(logFolder, layout)) partitions.push({ place, tail: await tailOf(place, lock) })
  return partitions
}

async function tailOf(place: PartitionPlace, lock: FolderLock): Promise<LogTail> {
  if (isEmpty(place)) return { position: 0, samples: 0 }
  const log = await openSegmentLog({ folder: place.folder, deadLetters: place, lock })
  const tail = log.tail()
  await log.close()
  return tail
}

/** Returns how many samples of a partition are after its checkpoint. */
export const unstoredSamples = ({ place, tail }: Partition): number =>
  Math.max(0, tail.samples - sumOf(countsOf(place)))

const countsOf = ({ folder }: PartitionPlace): SampleCounts => readCheckpoint(folder)?.counts ?? noSamples

const sumOf = ({ stored, replaced, deadLettered }: SampleCounts): number => stored + replaced + deadLettered

/**
 * Writes new partitions that continue `before`, of which everything is stored. Each new partition begins with the reports of
 * its devices that a replay would send again, and partition 0 continues the sample counts of all. Positions continue after
 * the largest one of `before`, so that names of dead letters do not repeat. The caller switches to the new layout.
 */
export async function writePartitions(
  before: readonly Partition[],
  places: readonly PartitionPlace[],
  lock: FolderLock,
): Promise<void> {
  const base = Math.max(...before.map(({ tail }) => tail.position))
  const logs: SegmentLog[] = []
  for (const place of places) {
    preparePrivateFolder(place.folder)
    closeSync(createSegment(place.folder, base, 0).fd)
    const limits = { maxWaitingBytes: Number.POSITIVE_INFINITY, maxWaitingReports: Number.POSITIVE_INFINITY }
    logs.push(await openSegmentLog({ folder: place.folder, deadLetters: place, lock, ...limits }))
  }
  try {
    for (const partition of before) await copyReplayed(partition, logs)
  } finally {
    for (const log of logs) await log.close()
  }
  for (const [index, { folder }] of places.entries()) {
    const counts = index === 0 ? before.map(({ place }) => countsOf(place)).reduce(add) : noSamples
    const position = logs[index]?.tail().position ?? base
    closeSync(createSegment(folder, position, sumOf(counts)).fd)
    const atMs = Date.now()
    // Without the start time of the server: the first writer sends the reports again.
    writeCheckpoint(folder, {
      position: position + segmentHeaderBytes,
      counts,
      atMs,
      history: [{ position: base, atMs }],
    })
  }
}

async function copyReplayed({ place, tail }: Partition, logs: readonly SegmentLog[]): Promise<void> {
  const checkpoint = readCheckpoint(place.folder)
  if (!checkpoint) return
  const reader = openSegmentReader({ folder: place.folder, from: replayStart(checkpoint) })
  try {
    for (;;) {
      const batches = reader.read(tail.position, chunkBytes)
      if (batches.length === 0) return
      await Promise.all(
        batches.map((batch) => logs[partitionOf(batch.deviceId, logs.length)]?.append(asAppended(batch))),
      )
    }
  } finally {
    reader.close()
  }
}

const asAppended = (batch: LoggedBatch): TelemetryBatch =>
  batch.body.length < compressedFromBytes
    ? batch
    : { ...batch, compressed: { coding: 'zstd', bytes: zstdCompressSync(batch.body) } }

const add = (a: SampleCounts, b: SampleCounts): SampleCounts => ({
  stored: a.stored + b.stored,
  replaced: a.replaced + b.replaced,
  deadLettered: a.deadLettered + b.deadLettered,
})
