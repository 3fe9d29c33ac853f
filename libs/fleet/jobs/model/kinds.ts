import { z } from 'zod'
import { refusalOfUrl } from '#core/public-address'
import { text } from '#core/schemas'
import { isStorableJson } from '#core/text'
import { namesSecret } from '#fleet/config-profiles/secret-names'

const maxParameterBytes = 4_096

const unstorable = 'NUL, lone surrogates and numbers outside the range of a double cannot be stored.'

/** What a router needs to download and verify a firmware image. */
export const firmwareParameters = z
  .strictObject({
    version: text(64),
    url: z
      .string()
      .max(2_048)
      .superRefine((url, check) => {
        const refusal = refusalOfUrl(url)
        if (refusal) check.addIssue({ code: 'custom', message: refusal })
      }),
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'A SHA-256 is 64 hexadecimal digits.')
      .toLowerCase(),
    sizeBytes: z.int().min(1).max(4_294_967_296).optional(),
  })
  .meta({ id: 'FirmwareParameters' })

const maxParameterNameLength = 64

/**
 * Parameters that the service does not interpret. They are stored in plain text and must not contain secrets. Each check
 * aborts the following ones, so that a value which is too large is not examined further.
 */
const plainParameters = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'Expected an object.',
  )
  .refine((parameters) => Buffer.byteLength(JSON.stringify(parameters)) <= maxParameterBytes, {
    message: `Parameters must not exceed ${maxParameterBytes} bytes as JSON.`,
    abort: true,
  })
  .refine((parameters) => Object.keys(parameters).every(isParameterName), {
    message: `The name of a parameter must have 1 to ${maxParameterNameLength} characters.`,
    abort: true,
  })
  .refine(isStorableJson, { message: unstorable, abort: true })
  .refine((parameters) => !holdsSecret(parameters), {
    message: 'Job parameters must not contain secrets. Use a config profile.',
  })
  .meta({
    type: 'object',
    propertyNames: { type: 'string', minLength: 1, maxLength: maxParameterNameLength },
    additionalProperties: {},
  })

const isParameterName = (name: string): boolean => name.length >= 1 && name.length <= maxParameterNameLength

const holdsSecret = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([key, inner]) => (!Array.isArray(value) && namesSecret(key)) || holdsSecret(inner))

const hourS = 3_600
const dayS = 24 * hourS
const minuteMs = 60_000

/**
 * The policy of each kind. `exclusive`: a device runs at most one such job at a time. `lifetimeS`: how long the device has
 * to take the job. `timeoutMs`: how long it then has to report the end.
 */
const policies = {
  reboot: {
    exclusive: true,
    maxAttempts: 1,
    lifetimeS: hourS,
    timeoutMs: 10 * minuteMs,
    parameters: plainParameters,
  },
  apply_config: {
    exclusive: true,
    maxAttempts: 3,
    lifetimeS: 7 * dayS,
    timeoutMs: 15 * minuteMs,
    parameters: z.strictObject({}),
  },
  firmware_update: {
    exclusive: true,
    maxAttempts: 3,
    lifetimeS: 7 * dayS,
    timeoutMs: 120 * minuteMs,
    parameters: firmwareParameters,
  },
  collect_diagnostics: {
    exclusive: false,
    maxAttempts: 3,
    lifetimeS: 7 * dayS,
    timeoutMs: 15 * minuteMs,
    parameters: plainParameters,
  },
  speed_test: {
    exclusive: false,
    maxAttempts: 3,
    lifetimeS: 7 * dayS,
    timeoutMs: 15 * minuteMs,
    parameters: plainParameters,
  },
} as const

export type JobKind = keyof typeof policies
export const jobKinds = Object.keys(policies) as [JobKind, ...JobKind[]]

type JobPolicy = { exclusive: boolean; maxAttempts: number; lifetimeS: number; timeoutMs: number }
export const policyOf = (kind: JobKind): JobPolicy => policies[kind]

/** The longest time a device may have to take a job: 30 days. */
export const maxExpiresInSeconds = 30 * dayS

const refusedKind = ({ input }: { input?: unknown }): string => {
  const kind = typeof input === 'object' && input !== null && 'kind' in input ? input.kind : undefined
  return kind === 'apply_config'
    ? 'To create apply_config jobs, apply a config profile: POST /orgs/:orgId/configs/:profileId/apply.'
    : 'Unknown job kind. Allowed: reboot, firmware_update, collect_diagnostics, speed_test.'
}

/** A firmware update names an image of the catalogue, or describes one in its parameters. */
const firmwareRequest = <Common extends z.ZodRawShape>(common: Common) =>
  z
    .strictObject({
      kind: z.literal('firmware_update'),
      parameters: firmwareParameters.optional(),
      firmwareImageId: z
        .guid()
        .toLowerCase()
        .optional()
        .describe('An image of the catalogue, instead of `parameters`.'),
      ...common,
    })
    .superRefine((body, check) => {
      const { parameters, firmwareImageId } = body as { parameters?: unknown; firmwareImageId?: unknown }
      if ((parameters === undefined) !== (firmwareImageId === undefined)) return
      check.addIssue({
        code: 'custom',
        path: ['parameters'],
        message: 'Send either `parameters` or `firmwareImageId`.',
      })
    })

/** The body of a job request: `common` fields beside `kind` and the parameters of that kind. */
export const jobRequest = <Common extends z.ZodRawShape>(common: Common) => {
  const plain = <Kind extends JobKind>(kind: Kind) =>
    z.strictObject({ kind: z.literal(kind), parameters: plainParameters.optional(), ...common })
  return z.discriminatedUnion(
    'kind',
    [plain('reboot'), firmwareRequest(common), plain('collect_diagnostics'), plain('speed_test')],
    { error: refusedKind },
  )
}

/**
 * Returns parameters as the control plane shows them: the query of a download URL is redacted, because it is often a
 * signature that grants access. Only the device receives it.
 */
export function redactParameters(parameters: Record<string, unknown>): Record<string, unknown> {
  if (typeof parameters.url !== 'string' || !URL.canParse(parameters.url)) return parameters
  const url = new URL(parameters.url)
  if (url.search !== '') url.search = '?redacted'
  return url.search === '' ? parameters : { ...parameters, url: url.href }
}
