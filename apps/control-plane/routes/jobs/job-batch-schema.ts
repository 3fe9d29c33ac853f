import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { batchStatuses } from '#fleet/jobs/batches/read'
import { jobKinds, maxExpiresInSeconds } from '#fleet/jobs/model/kinds'
import { rolloutSchema } from '#fleet/jobs/model/rollout'
import { scheduleSchema } from '#fleet/jobs/model/schedule'
import { stageStatuses } from '#fleet/jobs/model/stages'
import { jobStatuses } from '#fleet/jobs/model/states'

const stageSchema = z.object({
  devices: z.int(),
  status: z.enum(stageStatuses),
  startedAt: instantOut().nullable(),
  endedAt: instantOut().nullable(),
})

export const batchSummarySchema = z
  .object({
    id: uuid(),
    kind: z.enum(jobKinds),
    status: z.enum(batchStatuses),
    pauseReason: z
      .enum(['operator', 'failures', 'stage'])
      .nullable()
      .describe('Why the batch is paused. `stage`: it waits for an operator after a stage (`rollout.confirmStages`).'),
    target: z.union([
      z.object({ groupId: uuid() }),
      z
        .object({ deviceCount: z.int(), deviceId: uuid().nullable() })
        .describe('The number of devices, and the device if it is one. `GET …/job-batches/{id}` has all ids.'),
      z.object({ filter: z.record(z.string(), z.unknown()) }),
    ]),
    targetName: z.string().nullable().describe('The name of the group at the time of creation; null for devices.'),
    profile: z
      .object({ id: uuid(), version: z.int(), name: z.string().nullable() })
      .nullable()
      .describe('The profile that an `apply_config` batch applies, with its name at the time of creation.'),
    parameters: z.record(z.string(), z.unknown()).describe('Redacted: a download URL has no query.'),
    schedule: scheduleSchema.nullable(),
    rollout: rolloutSchema.nullable(),
    stages: z.array(stageSchema).describe('The stages of the rollout; empty without `canary` and `stages`.'),
    total: z.int().describe('Number of jobs, without skipped devices.'),
    counts: z.record(z.enum(jobStatuses), z.int()),
    createdBy: z.string().describe('`key:…` or `user:…`.'),
    createdByName: z.string().nullable().describe('The name of an API key of the organization; null for others.'),
    jobsUrl: z.string().describe('URL of the list of all jobs in the batch.'),
    createdAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'JobBatchSummary' })

export const batchSchema = batchSummarySchema
  .extend({
    target: z.union([
      z.object({ groupId: uuid() }),
      z.object({ deviceIds: z.array(uuid()) }),
      z.object({ filter: z.record(z.string(), z.unknown()) }),
    ]),
    stages: z.array(stageSchema.extend({ counts: z.partialRecord(z.enum(jobStatuses), z.int()) })),
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
