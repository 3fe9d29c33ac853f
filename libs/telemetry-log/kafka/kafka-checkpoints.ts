import { z } from 'zod'
import { type Checkpoint, type CheckpointStore, replayStart } from '#telemetry-log/checkpoints/checkpoint'
import type { LogPosition } from '#telemetry-log/log'

/** What a group commits for a partition: the start of the replay window as offset, the rest as text. */
export type CommittedOffset = { offset: LogPosition; metadata: string }

export type KafkaCheckpoints = CheckpointStore & {
  /** Resolves when the newest checkpoint is committed. Rejects if it cannot be. */
  flush(): Promise<void>
}

const metadataSchema = z.object({
  position: z.number(),
  /** Stored, replaced, dead letters. */
  counts: z.tuple([z.number(), z.number(), z.number()]),
  atMs: z.number(),
  replayAtMs: z.number(),
  serverStartMs: z.number().optional(),
  resumePosition: z.number().optional(),
})

/** Returns the offset and metadata of a checkpoint. Of its history only the oldest entry remains. */
export function encodeCheckpoint(checkpoint: Checkpoint): CommittedOffset {
  const { position, counts, atMs, history, serverStartMs, resumePosition } = checkpoint
  const metadata: z.infer<typeof metadataSchema> = {
    position,
    counts: [counts.stored, counts.replaced, counts.deadLettered],
    atMs,
    replayAtMs: history[0]?.atMs ?? atMs,
    serverStartMs,
    resumePosition,
  }
  return { offset: replayStart(checkpoint), metadata: JSON.stringify(metadata) }
}

/**
 * Returns the checkpoint of a committed offset. Without metadata, for example after an operator reset the offset, everything
 * before the offset counts as stored and counting starts anew.
 */
export function decodeCheckpoint({ offset, metadata }: CommittedOffset): Checkpoint {
  const parsed = parse(metadata)
  if (parsed === undefined || parsed.position < offset) return startingAt(offset)
  const { position, counts, atMs, replayAtMs, serverStartMs, resumePosition } = parsed
  const [stored, replaced, deadLettered] = counts
  const history = [{ position: offset, atMs: replayAtMs }]
  return { position, counts: { stored, replaced, deadLettered }, atMs, history, serverStartMs, resumePosition }
}

/** Returns the checkpoint of a partition of which nothing before `offset` is needed. */
export const startingAt = (offset: LogPosition): Checkpoint => ({
  position: offset,
  counts: { stored: 0, replaced: 0, deadLettered: 0 },
  atMs: 0,
  history: [],
})

function parse(metadata: string): z.infer<typeof metadataSchema> | undefined {
  try {
    return metadataSchema.parse(JSON.parse(metadata))
  } catch {
    return undefined
  }
}

/**
 * Commits checkpoints of one partition, one at a time and always the newest. `write` does not wait: until a commit succeeds,
 * a new writer starts at an earlier one. Kafka deletes old reports by itself.
 */
export function openKafkaCheckpoints(parts: {
  start: Checkpoint
  commit: (committed: CommittedOffset) => Promise<void>
  /** Called when a commit fails. The next checkpoint is committed all the same. */
  onFailure: (error: unknown) => void
}): KafkaCheckpoints {
  const { start, commit, onFailure } = parts
  let newest: Checkpoint | undefined
  let committing: Promise<void> | undefined

  async function commitNewest(): Promise<void> {
    while (newest) {
      const checkpoint = newest
      newest = undefined
      try {
        await commit(encodeCheckpoint(checkpoint))
      } catch (error) {
        newest ??= checkpoint
        throw error
      }
    }
  }

  function commitSoon(): Promise<void> {
    committing ??= commitNewest().finally(() => {
      committing = undefined
    })
    return committing
  }

  return {
    read: () => start,
    write(checkpoint) {
      newest = checkpoint
      if (!committing) commitSoon().catch(onFailure)
      return true
    },
    release() {},
    async flush() {
      await committing?.catch(() => {})
      await commitSoon()
    },
  }
}
