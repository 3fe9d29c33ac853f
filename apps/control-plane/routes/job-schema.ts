import { z } from 'zod'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'
import { instantOut, uuid } from '../http/schemas.ts'

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
      .describe('Redacted: of a download URL without its query, of apply_config the profile and version only.'),
    progress: z.int().nullable().describe('Percent, as the device says.'),
    result: z.unknown().describe('What the device said at the end; null before.'),
    error: z
      .object({
        code: z.string().describe('failed, rejected, deadline_exceeded, expired, device_disabled.'),
        detail: z.string().nullable(),
      })
      .nullable(),
    cancelRequested: z.boolean(),
    expiresAt: instantOut().describe('Until then the device must take it.'),
    createdAt: instantOut(),
    updatedAt: instantOut(),
    finishedAt: instantOut().nullable(),
  })
  .meta({ id: 'Job' })

export const jobWithHistorySchema = jobSchema
  .extend({
    history: z
      .array(z.object({ status: z.enum(jobStatuses), at: instantOut(), by: z.string() }))
      .describe('Every status it had, oldest first.'),
  })
  .meta({ id: 'JobWithHistory' })
