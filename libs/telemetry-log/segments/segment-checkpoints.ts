import { closeSync, openSync } from 'node:fs'
import type { Checkpoint, CheckpointStore } from '#telemetry-log/checkpoints/checkpoint'
import { readCheckpoint, writeCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import { folderBytes, freeBytes } from '#telemetry-log/checkpoints/folder-bytes'
import type { LogPosition } from '#telemetry-log/log'
import { reservedDiskBytes } from './log-budget.ts'
import {
  deleteOldestSegments,
  deleteSegmentsBefore,
  listSegments,
  readSegmentHeader,
  type Segment,
} from './segments.ts'
import { isShortage } from './shortage.ts'

type SegmentCheckpointOptions = {
  folder: string
  /** The folder of all partitions. */
  logFolder: string
  tailPosition: LogPosition
  /** If the folder of the log is larger than this or its disk is nearly full, stored segments are deleted early. */
  earlyDeletionBytes: number
}

/** Stores checkpoints in the folder of a partition. Deletes segments that are no longer needed. */
export function openSegmentCheckpoints(options: SegmentCheckpointOptions): CheckpointStore {
  const { folder, logFolder, tailPosition, earlyDeletionBytes } = options
  return {
    read: () => startingCheckpoint(folder, tailPosition),
    write(checkpoint) {
      try {
        writeCheckpoint(folder, checkpoint)
        return true
      } catch (error) {
        if (!isShortage(error)) throw error
        return false
      }
    },
    release(replayFrom, storedTo) {
      deleteSegmentsBefore(folder, replayFrom)
      if (storedTo === undefined) return
      const logBytes = folderBytes(logFolder)
      const missingBytes = Math.max(logBytes - earlyDeletionBytes, 2 * reservedDiskBytes - freeBytes(folder))
      if (missingBytes <= 0) return
      const share = folder === logFolder ? 1 : folderBytes(folder) / logBytes
      deleteOldestSegments(folder, storedTo, share * missingBytes)
    },
  }
}

/** The stored checkpoint, unless its log no longer exists; otherwise the beginning of the oldest segment. */
function startingCheckpoint(folder: string, tailPosition: LogPosition): Checkpoint {
  const kept = readCheckpoint(folder)
  if (kept && kept.position <= tailPosition) return kept
  const [oldest] = listSegments(folder)
  // Segments are deleted only after they were stored.
  const stored = oldest ? samplesBefore(oldest) : 0
  return { position: oldest?.base ?? 0, counts: { stored, replaced: 0, deadLettered: 0 }, atMs: 0, history: [] }
}

function samplesBefore({ path, base }: Segment): number {
  const fd = openSync(path, 'r')
  try {
    return readSegmentHeader(fd, base) ?? 0
  } finally {
    closeSync(fd)
  }
}
