import { z } from 'zod'
import { batchStatuses } from '#fleet/jobs/batches/read'
import { jobKinds, maxExpiresInSeconds } from '#fleet/jobs/model/kinds'
import { rolloutSchema } from '#fleet/jobs/model/rollout'
import { scheduleSchema } from '#fleet/jobs/model/schedule'
import { jobStatuses } from '#fleet/jobs/model/states'
import { instantOut, uuid } from '../http/schemas.ts'

export const batchSummarySchema = z
  .object({
    id: uuid(),
    kind: z.enum(jobKinds),
    status: z.enum(batchStatuses),
    target: z.union([z.object({ groupId: uuid() }), z.object({ deviceIds: z.array(uuid()) })]),
    profile: z.object({ id: uuid(), version: z.int() }).nullable().describe('What apply_config applies.'),
    total: z.int().describe('Jobs; the skipped devices are not among them.'),
    counts: z.record(z.enum(jobStatuses), z.int()),
    jobsUrl: z.string().describe('Leads to all jobs of the batch.'),
    createdAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'JobBatchSummary' })

export const batchSchema = batchSummarySchema
  .extend({
    skipped: z.array(z.object({ deviceId: uuid(), reason: z.string() })),
    jobs: z
      .array(z.object({ id: uuid(), deviceId: uuid(), status: z.enum(jobStatuses) }))
      .describe('One for each device; the first 1,000.'),
  })
  .meta({ id: 'JobBatch' })

/** What a request for a batch may say about its time and pace. */
export const batchOptions = {
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxExpiresInSeconds)
    .optional()
    .describe('Until when a device may take its job.'),
  schedule: scheduleSchema.optional(),
  rollout: rolloutSchema.optional(),
}
