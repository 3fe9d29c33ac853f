import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { Clock } from '#core/clock'
import { badRequest, ServiceError } from '#core/errors'
import { type BodyTerms, decodeJson, readBody, requireMediaType } from '#http/body'
import type { DeviceTraffic } from '../report/device-traffic.ts'
import type { DeviceAccess } from './device-access.ts'
import type { DeviceGrant } from './device-grants.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type EdgeCallParts = {
  clock: Clock
  access: DeviceAccess
  failedAuthentications: FailedAuthentications
  traffic: DeviceTraffic
}

/**
 * The first checks of every call by a device: its token, then its rate. Throws 401 and 429; whether it is disabled is
 * for `refuseDisabled`, once the rest of the request is known to be sound.
 */
export async function admitDevice(
  { clock, access, failedAuthentications, traffic }: EdgeCallParts,
  request: IncomingMessage,
): Promise<DeviceGrant> {
  try {
    const grant = await access.authenticate(request.headers.authorization)
    traffic.admit(grant.deviceId, clock())
    return grant
  } catch (error) {
    await failedAuthentications.count(request, error)
    throw error
  }
}

/** Throws 403 `device_disabled`. */
export function refuseDisabled(grant: DeviceGrant): void {
  if (grant.disabled) throw new ServiceError(403, 'device_disabled', 'The device is disabled.')
}

/** Parses what a device sent. Throws 400 naming every field that is wrong, as a pointer below `base`. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown, base = ''): z.infer<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.map(({ path, code, message }) => ({
    pointer: [base, ...path.map(String)].join(base === '' && path.length === 0 ? '' : '/'),
    code,
    detail: message,
  }))
  throw badRequest(errors[0]?.detail ?? 'The request is not valid.', errors)
}

const maxBodyBytes = 64 * 1_024

/** Reads a JSON body of at most 64 KiB. Throws 413, 415, 400, and what the terms make of the body. */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  terms: BodyTerms = {},
): Promise<z.infer<Schema>> {
  requireMediaType(request, ['application/json'])
  const body = await readBody(request, maxBodyBytes, terms)
  if (!body) throw badRequest('Send a JSON body.', undefined, 'invalid_json')
  return parseInput(schema, decodeJson(body))
}

/** An answer in JSON that no cache keeps. */
export const answerJson = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers: { 'Cache-Control': 'no-store', ...headers } })
