import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { batchStatuses } from '#fleet/jobs/batches/read'
import { jobKinds, maxExpiresInSeconds } from '#fleet/jobs/model/kinds'
import { rolloutSchema } from '#fleet/jobs/model/rollout'
import { scheduleSchema } from '#fleet/jobs/model/schedule'
import { jobStatuses } from '#fleet/jobs/model/states'

export const batchSummarySchema = z
  .object({
    id: uuid(),
    kind: z.enum(jobKinds),
    status: z.enum(batchStatuses),
    target: z.union([z.object({ groupId: uuid() }), z.object({ deviceIds: z.array(uuid()) })]),
    profile: z
      .object({ id: uuid(), version: z.int() })
      .nullable()
      .describe('The profile that an `apply_config` batch applies.'),
    total: z.int().describe('Number of jobs, without skipped devices.'),
    counts: z.record(z.enum(jobStatuses), z.int()),
    jobsUrl: z.string().describe('URL of the list of all jobs in the batch.'),
    createdAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'JobBatchSummary' })

export const batchSchema = batchSummarySchema
  .extend({
    skipped: z.array(z.object({ deviceId: uuid(), reason: z.string() })),
    jobs: z
      .array(z.object({ id: uuid(), deviceId: uuid(), status: z.enum(jobStatuses) }))
      .describe('The first 1,000 jobs, one for each device.'),
  })
  .meta({ id: 'JobBatch' })

/** What a request for a batch may say about its time and pace. */
export const batchOptions = {
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxExpiresInSeconds)
    .optional()
    .describe('Time in which a device can start its job.'),
  schedule: scheduleSchema.optional(),
  rollout: rolloutSchema.optional(),
}
