import {
  type Checkpoint,
  type CheckpointStore,
  nextCheckpoint,
  readStart,
  replayStart,
  type SampleCounts,
} from '#telemetry-log/checkpoints/checkpoint'
import type { LogPosition } from '#telemetry-log/log'

/** Stored segments are kept and replayed for this time. QuestDB may take almost as long to sync its memory to disk. */
const replayWindowMs = 15 * 60 * 1_000
const writeEveryMs = 1_000

type Resume = Pick<Checkpoint, 'serverStartMs' | 'resumePosition' | 'states'>

export type Checkpoints = {
  current(): Checkpoint
  /** The last one that is durable. */
  written(): Checkpoint
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

type CheckpointOptions = {
  store: CheckpointStore
  /** False after another process has taken over the partition. */
  mayWrite: () => boolean
  /** A monotonic clock in milliseconds. */
  monotonicMs?: () => number
}

/**
 * The position of the writer in its partition. Releases the log that was stored a replay window ago, and earlier if room is
 * short: stored data protects only from a rare failure of the database server, while a full log rejects all devices.
 */
export function openCheckpoints(options: CheckpointOptions): Checkpoints {
  const { store, mayWrite, monotonicMs = () => performance.now() } = options
  const [openedWallMs, openedMs] = [Date.now(), monotonicMs()]
  /** Continues from the wall clock at the start and ignores later changes of that clock. */
  const nowMs = () => openedWallMs + monotonicMs() - openedMs
  let written = notFromFuture(store.read(), openedWallMs)
  let current = written
  let writtenAtMs = Number.NEGATIVE_INFINITY
  let isReplayed = false
  let isReplayDue = false

  function write(): void {
    if (!mayWrite()) return
    const next = nextCheckpoint(written, { ...current, atMs: nowMs() }, replayWindowMs)
    writtenAtMs = nowMs()
    if (store.write(shifted(next, Date.now() - nowMs()))) {
      written = next
      current = next
    } else {
      // The previous checkpoint remains: after a crash, stored rows would be sent again. It ages all the same.
      written = nextCheckpoint(written, { ...written, atMs: nowMs() }, replayWindowMs)
    }
    store.release(replayStart(written), isReplayed && !isReplayDue ? written.position : undefined)
  }

  const writeWhenDue = () => {
    if (nowMs() - writtenAtMs >= writeEveryMs) write()
  }

  return {
    current: () => current,
    written: () => written,
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
