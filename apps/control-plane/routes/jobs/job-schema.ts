import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'

export const jobSchema = z
  .object({
    id: uuid(),
    batchId: uuid().nullable(),
    organizationId: uuid(),
    deviceId: uuid(),
    kind: z.enum(jobKinds),
    status: z.enum(jobStatuses),
    attempt: z.int(),
    maxAttempts: z.int(),
    parameters: z
      .record(z.string(), z.unknown())
      .describe('Redacted: a download URL has no query, and `apply_config` shows only the profile and version.'),
    progress: z.int().nullable().describe('Progress in percent, as reported by the device.'),
    result: z.unknown().describe('The result reported by the device; null until the job ends.'),
    error: z
      .object({
        code: z
          .string()
          .describe('`failed`, `rejected`, `deadline_exceeded`, `expired`, `device_disabled` or `profile_gone`.'),
        detail: z.string().nullable(),
      })
      .nullable(),
    cancelRequested: z.boolean(),
    expiresAt: instantOut().describe('The job expires if the device does not start it by this time.'),
    createdAt: instantOut(),
    updatedAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'Job' })

export const jobWithHistorySchema = jobSchema
  .extend({
    history: z
      .array(z.object({ status: z.enum(jobStatuses), at: instantOut(), by: z.string() }))
      .describe('All statuses of the job, oldest first.'),
  })
  .meta({ id: 'JobWithHistory' })
