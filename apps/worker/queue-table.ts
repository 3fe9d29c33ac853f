import type { z } from 'zod'
import type { Clock } from '#core/clock'
import { dispatchJobs, dispatchSlice, endOverdueJobs } from '#fleet/jobs/dispatch'
import type { Pool } from '#postgres/pool'
import { coalesce } from '#queue/coalesce'
import { batchSliceSchema, type JobReference, jobReferenceSchema, type QueueName } from '#queue/references'

/** One row of the table of everything this worker takes from queues. */
export type QueueEntry<Payload = unknown> = {
  queue: QueueName
  schema: z.ZodType<Payload>
  concurrency: number
  process: (payload: Payload) => Promise<void>
}

type Parts = { pool: Pool; clock: Clock; concurrency: number }

const entry = <Payload>(definition: QueueEntry<Payload>): QueueEntry => definition as QueueEntry

/** The queues and who works on them. Entries that are worked on side by side share one transaction. */
export const queueTable = ({ pool, clock, concurrency }: Parts): QueueEntry[] => {
  const together = (work: (references: readonly JobReference[]) => Promise<void>) =>
    coalesce(async (references: readonly JobReference[]) => {
      await work(references)
      return () => undefined
    }, concurrency)
  return [
    entry({
      queue: 'dispatch',
      schema: jobReferenceSchema,
      concurrency,
      process: together((references) => dispatchJobs(pool, references, clock())),
    }),
    entry({
      queue: 'batch',
      schema: batchSliceSchema,
      // One after the other: a large batch is to leave the other cores to those who call meanwhile.
      concurrency: 1,
      process: (slice) => dispatchSlice(pool, slice, clock()),
    }),
    entry({
      queue: 'deadline',
      schema: jobReferenceSchema,
      concurrency,
      process: together((references) => endOverdueJobs(pool, references, clock())),
    }),
  ]
}
