import type { LogPosition } from '#telemetry-log/log'

/** How the accepted samples before a position were stored. The three counts add up to all of them. */
export type SampleCounts = {
  /** Stored as a new row. */
  stored: number
  /** Replaced an earlier sample of the same device, kind and millisecond. */
  replaced: number
  /** Stored in `dead-letter/`. */
  deadLettered: number
}

/**
 * A file with the states of devices, in the folder of the partition, and its length when the states were those at `position`. Its
 * name ends with `statesSuffix`.
 */
export type StatesReference = { name: string; bytes: number }
export const statesSuffix = '.states'

/** Everything before `position` is stored. */
export type Checkpoint = {
  position: LogPosition
  counts: SampleCounts
  atMs: number
  /** Earlier checkpoints of the replay window, oldest first, to restart from after the database lost recent rows. */
  history: { position: LogPosition; atMs: number }[]
  /** Start time of the QuestDB server that has every row since the start of the replay; absent in older files. */
  serverStartMs?: number | undefined
  /** Where to read again if that server still runs: not after `position`, and before work that was only in memory. */
  resumePosition?: LogPosition | undefined
  /** Absent if no states are kept. */
  states?: StatesReference | undefined
}

/** Remembers how far a partition was stored. */
export type CheckpointStore = {
  /** Returns the newest checkpoint, or one at the beginning of the partition. */
  read(): Checkpoint
  /** Replaces the checkpoint durably. Returns false if there is no room; the previous checkpoint then remains. */
  write(checkpoint: Checkpoint): boolean
  /** Frees the log before `replayFrom`. If room is short, also frees the log before `storedTo`. */
  release(replayFrom: LogPosition, storedTo?: LogPosition): void
}

/** Interval of the earlier checkpoints. A replay starts up to this much too early. */
const historyStepMs = 15_000

/**
 * Returns the checkpoint after `previous`. Its history covers the replay window by the time at which positions were
 * stored, because a backlog is stored long after its samples arrived.
 */
export function nextCheckpoint(
  previous: Checkpoint,
  next: Omit<Checkpoint, 'history'>,
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

/**
 * Where the log is read from after a start. The server with the given start time has every row before the resume
 * position; any other server may lack everything since the start of the replay window.
 */
export function readStart(checkpoint: Checkpoint, serverStartMs: number | undefined): LogPosition {
  const { position, resumePosition } = checkpoint
  const replayFrom = replayStart(checkpoint)
  if (serverStartMs === undefined || checkpoint.serverStartMs !== serverStartMs) return replayFrom
  return Math.max(replayFrom, Math.min(position, resumePosition ?? replayFrom))
}

/** Returns where a replay begins: everything before it was stored before the replay window. */
export const replayStart = (checkpoint: Checkpoint): LogPosition =>
  checkpoint.history[0]?.position ?? checkpoint.position
