import type { Pool } from '#postgres/pool'
import type { KafkaEnds } from '#telemetry-log/kafka/kafka-ends'
import type { LogPosition } from '#telemetry-log/log'
import {
  forgetToldPositions,
  prepareCopyProgress,
  readToldPositions,
  recordCopyProgress,
} from '#telemetry-writer/store/copy-progress'
import type { WrittenPartition } from './partition.ts'

/** Tells Postgres how far this copy is, and learns how far the writers of all copies have told Postgres about devices. */
export type CopyProgressKeeper = {
  /** To be called before the first partition is written. Rejects if Postgres or Kafka does not respond. */
  prepare(partitions: number): Promise<void>
  /** Compares and records once. To be called every second. Rejects if Postgres or Kafka does not respond. */
  keep(): Promise<void>
  /** Another copy's writer has told Postgres about all reports of the partition before this position. */
  toldBefore(partition: number): LogPosition
}

export function createCopyProgressKeeper(parts: {
  copy: string
  pool: Pool
  ends: KafkaEnds
  partitions: () => readonly WrittenPartition[]
}): CopyProgressKeeper {
  const { copy, pool, ends, partitions } = parts
  let told: ReadonlyMap<number, LogPosition> = new Map()

  async function observe(): Promise<void> {
    // In this order: everything that was acknowledged at `nowMs` lies before the ends.
    const { nowMs, told: toldNow } = await readToldPositions(pool)
    const endOf = await ends.read()
    const isReplaced = ([partition, position]: [number, LogPosition]) => position > (endOf.get(partition) ?? position)
    const replaced = [...toldNow].filter(isReplaced).map(([partition]) => partition)
    if (replaced.length > 0) await forgetToldPositions(pool, replaced)
    told = new Map([...toldNow].filter((entry) => !isReplaced(entry)))
    for (const written of partitions()) {
      const end = endOf.get(written.partition)
      if (end !== undefined) written.noteEnd(end, nowMs)
    }
  }

  return {
    async prepare(count) {
      await prepareCopyProgress(pool, copy, count)
      await observe()
    },
    async keep() {
      await observe()
      const progress = partitions().map((written) => ({ partition: written.partition, ...written.progress() }))
      if (progress.length > 0) await recordCopyProgress(pool, copy, progress)
    },
    toldBefore: (partition) => told.get(partition) ?? 0,
  }
}
