import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { Clock } from '#core/clock'
import { badRequest, ServiceError } from '#core/errors'
import { maxJsonBodyBytes } from '#device-edge/contract'
import { gatewayDeviceHeader, gatewayReceivedHeader } from '#device-edge/gateway'
import { type BodyTerms, decodeJson, readBody, requireMediaType } from '#http/body'
import { inSentences, invalidRequest, jsonPointer, parameterName } from '#http/invalid-request'
import type { DeviceTraffic } from '../http/device-traffic.ts'
import type { DeviceAccess } from './device-access.ts'
import type { DeviceGrant } from './device-grants.ts'
import type { FailedAuthentications } from './failed-authentications.ts'

export type AdmissionParts = {
  clock: Clock
  access: DeviceAccess
  failedAuthentications: FailedAuthentications
  traffic: DeviceTraffic
}

/** Returns the device that a gateway speaks for; undefined if the caller is a device. */
export function gatewayDeviceOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const sent = headers[gatewayDeviceHeader]
  return typeof sent === 'string' ? sent : undefined
}

/**
 * Returns the grant of the request's device token, or of a gateway's key for the device that it names. `authorization`: the
 * credentials, if they are not in that header. Throws 401, 429 after too many failures, and 503; for a gateway also 400 and
 * 404.
 */
export async function authenticateDevice(
  { access, failedAuthentications }: Pick<AdmissionParts, 'access' | 'failedAuthentications'>,
  request: IncomingMessage,
  authorization = request.headers.authorization,
): Promise<DeviceGrant> {
  try {
    const grant = access.authenticate(authorization, gatewayDeviceOf(request))
    return grant instanceof Promise ? await grant : grant
  } catch (error) {
    await failedAuthentications.count(request, error)
    throw error
  }
}

/**
 * Runs the first checks of every request by a device: its token, then its rate. Throws 401, 429 and 503. Routes call
 * `refuseDisabled` later, after they have validated the rest of the request.
 */
export async function admitDevice(
  parts: AdmissionParts,
  request: IncomingMessage,
  authorization?: string,
): Promise<{ grant: DeviceGrant; receivedAtMs: number }> {
  const grant = await authenticateDevice(parts, request, authorization)
  const receivedAtMs = parts.clock()
  parts.traffic.admit(grant.deviceId, receivedAtMs)
  return { grant, receivedAtMs }
}

/** A gateway keeps what it cannot deliver in its broker, so a report can arrive this late. */
const longestDeliveryMs = 24 * 60 * 60 * 1_000
/** How far the clock of a gateway may be ahead. */
const aheadMs = 60_000

/**
 * Returns the time of receipt of a report: when its gateway received it, so that a repeated delivery gives the same rows.
 * Without a gateway, and if the gateway's clock is wrong, it is `nowMs`.
 */
export function receiptTime(request: Pick<IncomingMessage, 'headers'>, nowMs: number): number {
  if (gatewayDeviceOf(request) === undefined) return nowMs
  const sentMs = Number(request.headers[gatewayReceivedHeader] ?? Number.NaN)
  const isPlausible = Number.isInteger(sentMs) && sentMs > nowMs - longestDeliveryMs && sentMs < nowMs + aheadMs
  return isPlausible ? sentMs : nowMs
}

/** Throws 403 `device_disabled`. */
export function refuseDisabled(grant: DeviceGrant): void {
  if (grant.disabled) throw new ServiceError(403, 'device_disabled', 'The device is disabled.')
}

/**
 * Returns whether the grant is a gateway's, for a device that has a token of its own. Such a device takes its jobs and its
 * configuration itself.
 */
export const hasOwnToken = ({ ownTokenUntilMs = 0 }: DeviceGrant, nowMs: number): boolean => ownTokenUntilMs > nowMs

/** Throws 403 `device_has_token` for a gateway that asks for what a device with a token of its own takes itself. */
export function refuseNeedlessGateway(grant: DeviceGrant, nowMs: number): void {
  if (!hasOwnToken(grant, nowMs)) return
  throw new ServiceError(
    403,
    'device_has_token',
    'The device has a token of its own. It takes its jobs and its configuration itself. Revoke its tokens to let a gateway take them.',
  )
}

/** Throws 402 `subscription_inactive` once the grace period of an ended subscription is over. */
export function refuseEndedSubscription(grant: DeviceGrant, nowMs: number): void {
  if (nowMs < grant.refusedFromMs) return
  throw new ServiceError(402, 'subscription_inactive', "The organization's subscription ended more than 30 days ago.")
}

/** Validates a query of a device. Throws 400 with every invalid parameter. A repeated parameter is a list. */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, query: URLSearchParams): z.infer<Schema> {
  const sent = (name: string) => (query.getAll(name).length > 1 ? query.getAll(name) : query.get(name))
  return parseInput(schema, Object.fromEntries([...query.keys()].map((name) => [name, sent(name)])), parameterName)
}

function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  pointerOf: (path: PropertyKey[]) => string,
): z.infer<Schema> {
  const parsed = schema.safeParse(input, inSentences)
  if (parsed.success) return parsed.data
  throw invalidRequest(parsed.error, pointerOf)
}

/** Reads and validates a JSON body. Throws 400 with every invalid field as a JSON pointer, 413, 415, and the errors of `terms`. */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  terms: BodyTerms = {},
): Promise<z.infer<Schema>> {
  requireMediaType(request, ['application/json'])
  const body = await readBody(request, maxJsonBodyBytes, terms)
  if (!body) throw badRequest('Send a JSON body.', undefined, 'invalid_json')
  return parseInput(schema, decodeJson(body), jsonPointer)
}

/** Returns a JSON response that must not be cached. */
export const answerJson = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers: { 'Cache-Control': 'no-store', ...headers } })
