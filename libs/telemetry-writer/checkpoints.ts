import { closeSync, openSync } from 'node:fs'
import { type Checkpoint, nextCheckpoint, readStart, replayStart, type SampleCounts } from '#telemetry-log/checkpoint'
import { readCheckpoint, writeCheckpoint } from '#telemetry-log/checkpoint-file'
import { folderBytes, freeBytes } from '#telemetry-log/folder-bytes'
import type { LogPosition } from '#telemetry-log/log'
import { reservedDiskBytes } from '#telemetry-log/log-budget'
import {
  deleteOldestSegments,
  deleteSegmentsBefore,
  listSegments,
  readSegmentHeader,
  type Segment,
} from '#telemetry-log/segments'
import { isShortage } from '#telemetry-log/shortage'

/** Stored segments are kept and replayed for this time. QuestDB may take almost as long to sync its memory to disk. */
const replayWindowMs = 15 * 60 * 1_000
const writeEveryMs = 1_000

type Resume = Pick<Checkpoint, 'serverStartMs' | 'resumePosition'>

export type Checkpoints = {
  current(): Checkpoint
  /** Records a position. It is written at most once a second, and by `keep`. `resume`: see `Checkpoint`. */
  advance(position: LogPosition, counts: SampleCounts, resume?: Resume): void
  /** Records another position to resume from while no new rows are stored. */
  resumeFrom(position: LogPosition): void
  /** Ages the stored rows while no new rows are stored. Call it only while the database is available. */
  keep(): void
  /** Writes the recorded position at once. */
  close(): void
  /** Where to start reading if the QuestDB server with this start time has the rows. */
  readPosition(serverStartMs: number | undefined): LogPosition
  /** The database may have lost rows: until a replay has passed them, stored segments are kept for the full time. */
  databaseRestarted(): void
  beginReplay(): void
}

export type CheckpointOptions = {
  folder: string
  tailPosition: LogPosition
  /** If the folder is larger than this or the disk is nearly full, stored segments are deleted early. */
  earlyDeletionBytes: number
  /** False after another process has taken over the folder. */
  mayWrite: () => boolean
  /** A monotonic clock in milliseconds. */
  monotonicMs?: () => number
}

/**
 * The position of the writer in the log, stored in the folder of the log. Deletes segments that were stored a replay window
 * ago, and earlier if the folder or the disk would become full: a stored segment protects only from a rare failure of the
 * database server, while a full log rejects all devices.
 */
export function openCheckpoints(options: CheckpointOptions): Checkpoints {
  const { folder, tailPosition, earlyDeletionBytes, mayWrite, monotonicMs = () => performance.now() } = options
  const [openedWallMs, openedMs] = [Date.now(), monotonicMs()]
  /** Continues from the wall clock at the start and ignores later changes of that clock. */
  const nowMs = () => openedWallMs + monotonicMs() - openedMs
  let written = notFromFuture(startingCheckpoint(folder, tailPosition), openedWallMs)
  let current = written
  let writtenAtMs = Number.NEGATIVE_INFINITY
  let isReplayed = false
  let isReplayDue = false

  function write(): void {
    if (!mayWrite()) return
    const next = nextCheckpoint(written, { ...current, atMs: nowMs() }, replayWindowMs)
    writtenAtMs = nowMs()
    try {
      writeCheckpoint(folder, shifted(next, Date.now() - nowMs()))
      written = next
      current = next
    } catch (error) {
      // The previous checkpoint remains: after a crash, stored rows would be sent again. It ages all the same.
      if (!isShortage(error)) throw error
      written = nextCheckpoint(written, { ...written, atMs: nowMs() }, replayWindowMs)
    }
    deleteSegmentsBefore(folder, replayStart(written))
    if (isReplayed && !isReplayDue) makeRoom()
  }

  function makeRoom(): void {
    const missingBytes = Math.max(folderBytes(folder) - earlyDeletionBytes, 2 * reservedDiskBytes - freeBytes(folder))
    if (missingBytes > 0) deleteOldestSegments(folder, written.position, missingBytes)
  }

  const writeWhenDue = () => {
    if (nowMs() - writtenAtMs >= writeEveryMs) write()
  }

  return {
    current: () => current,
    advance(position, counts, resume) {
      current = { ...current, position, counts, ...resume }
      isReplayed = true
      writeWhenDue()
    },
    resumeFrom(resumePosition) {
      current = { ...current, resumePosition }
    },
    keep: writeWhenDue,
    close: write,
    readPosition: (serverStartMs) => readStart(written, serverStartMs),
    databaseRestarted() {
      isReplayDue = true
    },
    beginReplay() {
      isReplayDue = false
      isReplayed = false
    },
  }
}

/** Times in the future, after the clock was set back, count as now. */
function notFromFuture(checkpoint: Checkpoint, nowMs: number): Checkpoint {
  const clamp = (atMs: number) => Math.min(atMs, nowMs)
  const history = checkpoint.history.map(({ position, atMs }) => ({ position, atMs: clamp(atMs) }))
  return { ...checkpoint, atMs: clamp(checkpoint.atMs), history }
}

function shifted(checkpoint: Checkpoint, byMs: number): Checkpoint {
  const history = checkpoint.history.map(({ position, atMs }) => ({ position, atMs: Math.round(atMs + byMs) }))
  return { ...checkpoint, atMs: Math.round(checkpoint.atMs + byMs), history }
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
