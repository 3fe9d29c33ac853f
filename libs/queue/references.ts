import { z } from 'zod'

/** The queues, and what each is about: see docs/jobs.md. */
export const queueNames = ['dispatch', 'batch', 'deadline'] as const
export type QueueName = (typeof queueNames)[number]

// All that a queue ever holds: which attempt of which job, or which jobs of which batch. Parameters and secrets stay in
// Postgres.
export const jobReferenceSchema = z.strictObject({ jobId: z.guid(), attempt: z.int().min(1) })
export const batchSliceSchema = z.strictObject({ batchId: z.guid(), after: z.int().min(0), upTo: z.int().min(1) })

export type JobReference = z.infer<typeof jobReferenceSchema>
