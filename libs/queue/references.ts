import { z } from 'zod'
import type { BatchSlice, JobReference } from '#fleet/jobs/dispatch'

/** The names of the queues; docs/jobs.md describes each. */
export const queueNames = ['dispatch', 'batch', 'deadline'] as const
export type QueueName = (typeof queueNames)[number]

/** The span of the offer, if tracing is on. */
const traceparent = z.string().optional()

// The data of every queue entry: an attempt of a job, or a slice of a batch. Parameters and secrets stay in Postgres.
export const jobReferenceSchema = z.strictObject({
  jobId: z.guid(),
  attempt: z.int().min(1),
  traceparent,
}) satisfies z.ZodType<JobReference>
export const batchSliceSchema = z.strictObject({
  batchId: z.guid(),
  after: z.int().min(0),
  upTo: z.int().min(1),
  traceparent,
}) satisfies z.ZodType<BatchSlice>
