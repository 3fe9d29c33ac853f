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

/** Drained segments are kept and replayed this far back: longer than QuestDB may take to sync what it holds in memory. */
const replayWindowMs = 15 * 60 * 1_000
const writeEveryMs = 1_000

type Resume = Pick<Checkpoint, 'serverStartMs' | 'resumePosition'>

export type Checkpoints = {
  current(): Checkpoint
  /** Takes note; written at most once a second, and by `keep`. `resume`: see `Checkpoint`. */
  advance(position: LogPosition, counts: SampleCounts, resume?: Resume): void
  /** Takes note of another place to resume from while nothing new is stored. */
  resumeFrom(position: LogPosition): void
  /** Lets time pass for what is stored while nothing new is; only to be called while the database is alive. */
  keep(): void
  /** Writes what was noted, at once. */
  close(): void
  /** Where reading starts when the QuestDB server with this start time has the rows. */
  readPosition(serverStartMs: number | undefined): LogPosition
  /** The database may have lost what it had: until a replay has begun and passed, stored segments stay their full time. */
  databaseRestarted(): void
  beginReplay(): void
}

export type CheckpointOptions = {
  folder: string
  tailPosition: LogPosition
  /** With more than this in the folder, or a disk that is nearly full, stored segments go before their time. */
  earlyDeletionBytes: number
  /** False once another process has taken over the folder. */
  mayWrite: () => boolean
  /** A clock that nobody sets, in milliseconds. */
  monotonicMs?: () => number
}

/**
 * The writer's place in the log, durable in its folder. Segments that were stored a replay window ago are deleted, and
 * earlier ones when the folder or its disk would otherwise fill up: a stored segment guards against a rare fault of the
 * database's machine, a full log refuses every device.
 */
export function openCheckpoints(options: CheckpointOptions): Checkpoints {
  const { folder, tailPosition, earlyDeletionBytes, mayWrite, monotonicMs = () => performance.now() } = options
  const [openedWallMs, openedMs] = [Date.now(), monotonicMs()]
  /** Counts on from the wall clock as it was at the start, whatever is done to that clock later. */
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
      // The old one stands: a crash now would send again what is stored already. Time passes for it all the same.
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

/** Times of a clock that was set back since count as now. */
function notFromFuture(checkpoint: Checkpoint, nowMs: number): Checkpoint {
  const clamp = (atMs: number) => Math.min(atMs, nowMs)
  const history = checkpoint.history.map(({ position, atMs }) => ({ position, atMs: clamp(atMs) }))
  return { ...checkpoint, atMs: clamp(checkpoint.atMs), history }
}

function shifted(checkpoint: Checkpoint, byMs: number): Checkpoint {
  const history = checkpoint.history.map(({ position, atMs }) => ({ position, atMs: Math.round(atMs + byMs) }))
  return { ...checkpoint, atMs: Math.round(checkpoint.atMs + byMs), history }
}

/** The kept checkpoint, unless it belongs to a log that is gone; else the beginning of the oldest segment. */
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
