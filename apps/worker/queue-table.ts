import type { z } from 'zod'
import type { Traceparent } from '#core/tracing'
import type { SystemContext } from '#fleet/context'
import { dispatchJobs, dispatchSlice, endOverdueJobs, type JobReference } from '#fleet/jobs/dispatch'
import { coalesce } from '#postgres/coalesce'
import { batchSliceSchema, jobReferenceSchema, type QueueName } from '#queue/references'

/** How this worker processes the entries of one queue. */
export type QueueEntry<Payload = { traceparent?: Traceparent | undefined }> = {
  queue: QueueName
  schema: z.ZodType<Payload>
  concurrency: number
  process: (payload: Payload) => Promise<void>
}

const entry = <Payload>(definition: QueueEntry<Payload>): QueueEntry => definition as unknown as QueueEntry

/** The processors of all queues. `concurrency` entries for single jobs are processed at a time; they share transactions. */
export const queueTable = (system: SystemContext, { concurrency }: { concurrency: number }): QueueEntry[] => {
  const coalesced = (work: (references: readonly JobReference[]) => Promise<void>) =>
    coalesce(async (references: readonly JobReference[]) => {
      await work(references)
      return () => undefined
    }, concurrency)
  return [
    entry({
      queue: 'dispatch',
      schema: jobReferenceSchema,
      concurrency,
      process: coalesced((references) => dispatchJobs(system, references)),
    }),
    entry({
      queue: 'batch',
      schema: batchSliceSchema,
      // A slice waits for the database most of its time. More than two would take the cores of API requests.
      concurrency: 2,
      process: (slice) => dispatchSlice(system, slice),
    }),
    entry({
      queue: 'deadline',
      schema: jobReferenceSchema,
      concurrency,
      process: coalesced((references) => endOverdueJobs(system, references)),
    }),
  ]
}
