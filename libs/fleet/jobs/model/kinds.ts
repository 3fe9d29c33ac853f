import { z } from 'zod'
import { refusalOfUrl } from '#core/public-address'
import { isStorable, isStorableJson } from '#core/text'
import { namesSecret } from '#fleet/config-profiles/secret-names'

const maxParameterBytes = 4_096

const unstorable = 'NUL, halves of surrogate pairs and numbers beyond a double cannot be stored.'

const firmwareParameters = z.strictObject({
  version: z.string().trim().min(1).max(64).refine(isStorable, unstorable),
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

const maxParameterNameLength = 64

/**
 * Parameters the service does not interpret. They are stored readable, so that nothing secret may be among them. Each
 * check aborts the next ones: what is too large is not looked into.
 */
const plainParameters = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'Expected an object.',
  )
  .refine((parameters) => Buffer.byteLength(JSON.stringify(parameters)) <= maxParameterBytes, {
    message: `Parameters must have at most ${maxParameterBytes} bytes as JSON.`,
    abort: true,
  })
  .refine((parameters) => Object.keys(parameters).every(isParameterName), {
    message: `The name of a parameter must have 1 to ${maxParameterNameLength} characters.`,
    abort: true,
  })
  .refine(isStorableJson, { message: unstorable, abort: true })
  .refine((parameters) => !holdsSecret(parameters), {
    message: 'A secret does not belong in job parameters: put it into a config profile.',
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
 * What is particular to each kind. `exclusive`: of these at most one runs on a device at a time. `lifetimeS`: until when
 * it must be taken. `timeoutMs`: until when, once taken, its end must be reported.
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

export type JobPolicy = { exclusive: boolean; maxAttempts: number; lifetimeS: number; timeoutMs: number }
export const policyOf = (kind: JobKind): JobPolicy => policies[kind]

/** Longest life of a job before it is taken: 30 days. */
export const maxExpiresInSeconds = 30 * dayS

const refusedKind = ({ input }: { input?: unknown }): string => {
  const kind = typeof input === 'object' && input !== null && 'kind' in input ? input.kind : undefined
  return kind === 'apply_config'
    ? 'apply_config is made by applying a config profile: POST /orgs/:orgId/configs/:profileId/apply.'
    : 'Unknown kind of job. Kinds: reboot, firmware_update, collect_diagnostics, speed_test.'
}

/** The body of a job request: `common` fields beside `kind` and the parameters of that kind. */
export const jobRequest = <Common extends z.ZodRawShape>(common: Common) => {
  const plain = <Kind extends JobKind>(kind: Kind) =>
    z.strictObject({ kind: z.literal(kind), parameters: plainParameters.optional(), ...common })
  return z.discriminatedUnion(
    'kind',
    [
      plain('reboot'),
      z.strictObject({ kind: z.literal('firmware_update'), parameters: firmwareParameters, ...common }),
      plain('collect_diagnostics'),
      plain('speed_test'),
    ],
    { error: refusedKind },
  )
}

/**
 * Parameters as the control plane shows them. The query of a download URL is often a signature that opens it, so only
 * the device gets that.
 */
export function redactParameters(parameters: Record<string, unknown>): Record<string, unknown> {
  if (typeof parameters.url !== 'string' || !URL.canParse(parameters.url)) return parameters
  const url = new URL(parameters.url)
  if (url.search !== '') url.search = '?redacted'
  return url.search === '' ? parameters : { ...parameters, url: url.href }
}
