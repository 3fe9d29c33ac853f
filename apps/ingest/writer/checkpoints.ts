import { closeSync, openSync } from 'node:fs'
import {
  type Checkpoint,
  nextCheckpoint,
  readCheckpoint,
  replayStart,
  type SampleCounts,
  writeCheckpoint,
} from '#telemetry-log/checkpoint'
import type { LogPosition } from '#telemetry-log/log'
import { deleteSegmentsBefore, listSegments, readSegmentHeader, type Segment } from '#telemetry-log/segments'
import { isShortage } from '#telemetry-log/shortage'

/** Drained segments are kept and replayed this far back: longer than QuestDB may take to sync what it holds in memory. */
const replayWindowMs = 15 * 60 * 1_000
const writeEveryMs = 1_000

export type Checkpoints = {
  current(): Checkpoint
  /** Takes note; written at most once a second, and by `keep`. */
  advance(position: LogPosition, counts: SampleCounts): void
  /** Lets time pass for what is stored while nothing new is; only to be called while the database is alive. */
  keep(): void
  /** Where a replay has to begin. */
  replayPosition(): LogPosition
}

/** The writer's place in the log, durable in its folder; drained segments older than the replay window are deleted. */
export function openCheckpoints(folder: string, tailPosition: LogPosition): Checkpoints {
  let written = startingCheckpoint(folder, tailPosition)
  let current = written

  function write(): void {
    const next = nextCheckpoint(written, { ...current, atMs: Date.now() }, replayWindowMs)
    try {
      writeCheckpoint(folder, next)
    } catch (error) {
      // The old one stands: a crash now would send again what is stored already. What is stored next tries this again.
      if (isShortage(error)) return
      throw error
    }
    written = next
    current = next
    deleteSegmentsBefore(folder, replayStart(written))
  }

  return {
    current: () => current,
    advance(position, counts) {
      current = { ...current, position, counts }
      if (Date.now() - written.atMs >= writeEveryMs) write()
    },
    keep() {
      if (Date.now() - written.atMs >= writeEveryMs) write()
    },
    replayPosition: () => replayStart(written),
  }
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
