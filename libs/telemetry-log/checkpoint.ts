import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { LogPosition } from '#telemetry-log/log'
import { syncFolder } from '#telemetry-log/segments'

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

const checkpointSchema = z.object({
  position: z.number(),
  counts: z.object({ stored: z.number(), replaced: z.number(), deadLettered: z.number() }),
  atMs: z.number(),
  history: z.array(z.object({ position: z.number(), atMs: z.number() })),
})

const fileName = 'checkpoint.json'

/** The last durable checkpoint of the folder, or undefined when there is none that can be read. */
export function readCheckpoint(folder: string): Checkpoint | undefined {
  try {
    return checkpointSchema.parse(JSON.parse(readFileSync(join(folder, fileName), 'utf8')))
  } catch {
    return undefined
  }
}

/** Replaces the checkpoint durably: a crash leaves the old one or the new one, never a mixture. */
export function writeCheckpoint(folder: string, checkpoint: Checkpoint): void {
  const draft = join(folder, `${fileName}.next`)
  const fd = openSync(draft, 'w')
  try {
    writeSync(fd, JSON.stringify(checkpoint))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, join(folder, fileName))
  syncFolder(folder)
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
