import type { LogPosition } from '#telemetry-log/log'

/** What became of the accepted samples before a position; the three add up to the samples before it. */
export type SampleCounts = {
  /** Made a new row. */
  stored: number
  /** Took the place of an earlier sample of the same device, kind and millisecond. */
  replaced: number
  /** Went to `dead-letter/`. */
  deadLettered: number
}

/** Everything before `position` is stored, and `counts` says how. */
export type Checkpoint = {
  position: LogPosition
  counts: SampleCounts
  atMs: number
  /** Earlier checkpoints of the replay window, oldest first: where to begin again when the database lost its newest. */
  history: { position: LogPosition; atMs: number }[]
}

/** How far apart remembered checkpoints are; replaying starts up to this much earlier than necessary. */
const historyStepMs = 15_000

/**
 * The checkpoint that follows `previous`. Its history reaches back over the whole replay window, by the time at which
 * positions were stored, not at which their samples arrived: a backlog is stored long after it came.
 */
export function nextCheckpoint(
  previous: Checkpoint,
  next: { position: LogPosition; counts: SampleCounts; atMs: number },
  replayWindowMs: number,
): Checkpoint {
  const history = [...previous.history]
  if (next.atMs - (history.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= historyStepMs) {
    history.push({ position: previous.position, atMs: next.atMs })
  }
  const limitMs = next.atMs - replayWindowMs
  while (history.length > 1 && (history[1]?.atMs ?? Number.POSITIVE_INFINITY) <= limitMs) history.shift()
  return { ...next, history }
}

/** Where a replay begins: everything before was stored at least the replay window before the checkpoint was made. */
export const replayStart = (checkpoint: Checkpoint): LogPosition =>
  checkpoint.history[0]?.position ?? checkpoint.position
