import { z } from 'zod'
import { instantOut, numberIn, text, uuid } from '#core/schemas'
import { storableJson } from '#core/text'
import { configStates } from '#fleet/config-profiles/config-state'
import type { Json } from '#fleet/config-profiles/settings-tree'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { reportedStatuses } from '#fleet/jobs/model/states'

// The requests and responses of the device edge. Ingest validates requests with these schemas. The control plane
// documents them and limits the bodies that it forwards. `#telemetry/schemas` has the schema of a report.

/** Maximum size of an enrollment or a job status, as sent. */
export const maxJsonBodyBytes = 64 * 1024

/** Maximum size of a telemetry report, as sent and decompressed. */
export const maxReportBytes = 1024 * 1024

export const reportPath = '/telemetry'
export const enrollPath = '/device/enroll'
export const nextJobPath = '/device/jobs/next'
export const jobStatusPath = '/device/jobs/:id/status'
export const deviceConfigPath = '/device/config'

/** Response to a telemetry report. */
export const reportAnswer = z
  .object({
    accepted: z.int(),
    rejected: z.array(z.object({ index: z.int(), code: z.string(), detail: z.string() })),
    jobsPending: z.int().describe('Jobs that wait for the device.'),
  })
  .meta({ id: 'AcceptedReport' })

/** Body of an enrollment. */
export const enrollment = z.strictObject({
  enrollmentKey: z.string().min(1).max(200),
  serial: text(64),
  model: text(200),
  name: text(200).optional(),
  nonce: z
    .string()
    .min(16)
    .max(128)
    .optional()
    .describe(
      'Random text that the router chooses once and keeps, at least 128 bits of it. An enrollment that is repeated with the same nonce within 24 hours returns the same device and a new token.',
    ),
})

export const enrollmentAnswer = z.object({ deviceId: uuid(), token: z.string() }).meta({ id: 'EnrolledDevice' })

/** Query of the long poll for a job. */
export const nextJobQuery = z.strictObject({ waitSeconds: numberIn(z.number().int().min(0).max(55)).prefault(0) })

export const nextJobAnswer = z
  .looseObject({
    id: uuid(),
    kind: z.enum(jobKinds),
    attempt: z.int(),
    parameters: z.record(z.string(), z.unknown()),
    cancelRequested: z.boolean(),
    expiresAt: instantOut(),
  })
  .meta({ id: 'NextJob' })

const maxDetailBytes = 32 * 1024

/** Body of a job status. `progress` is rounded to a whole percentage. */
export const jobStatus = z.strictObject({
  attempt: z.int().min(1),
  status: z.enum(reportedStatuses),
  progress: z.number().min(0).max(100).transform(Math.round).optional(),
  code: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/)
    .optional()
    .describe('Why the job `failed` or was `rejected`, for programs, such as `rolled_back`. By default the status.'),
  detail: z
    .union([z.string().max(2_000), z.record(z.string(), z.unknown())])
    .refine((detail) => Buffer.byteLength(JSON.stringify(detail)) <= maxDetailBytes, {
      message: `The detail may take ${maxDetailBytes} bytes as JSON.`,
    })
    // A job must be able to end even if a tool printed characters that Postgres cannot store.
    .transform(storableJson)
    .optional()
    .describe('A sentence, or results such as those of a speed test.'),
})

export const jobStatusAnswer = z
  .object({ status: z.string(), cancelRequested: z.boolean() })
  .meta({ id: 'ReportedJob' })

/** The config profile that was last applied to the device, with its secrets. */
export const configAnswer = z
  .object({
    profile: z.object({
      id: uuid(),
      version: z.int(),
      settings: z.record(z.string(), z.unknown()),
      secrets: z.array(z.string()).describe('JSON pointers of the secrets in `settings`.'),
      digest: z
        .string()
        .describe('`sha256:` and the SHA-256 of the canonical JSON (RFC 8785) of `settings` without secrets.'),
    }),
  })
  .meta({ id: 'AppliedConfig' })

const maxSettingsLevels = 32

const hasAtMost = (levels: number, value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => hasAtMost(levels - 1, inner)))

/** Body of the report of what a device runs. */
export const reportedConfig = z
  .strictObject({
    profileId: uuid(),
    version: z.int().min(1).max(2_147_483_647),
    digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .describe('The digest of what runs, without secrets. That of the profile if nothing differs.'),
    settings: z
      .record(z.string(), z.unknown())
      .refine((settings) => hasAtMost(maxSettingsLevels, settings), {
        message: `Settings may have ${maxSettingsLevels} levels of nesting.`,
        abort: true,
      })
      .transform((settings) => storableJson(settings) as Record<string, Json>)
      .optional()
      .describe('What runs, without secrets. Not needed for the digest of the profile.'),
  })
  .meta({ id: 'ReportedConfig' })

export const reportedConfigAnswer = z.object({ state: z.enum(configStates) }).meta({ id: 'JudgedConfig' })
