import { ServiceError } from '#core/errors'
import { parseToken } from '#core/tokens'

/** The token of an `Authorization: Bearer` header, or undefined when there is none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization?.startsWith('Bearer ')) return authorization.slice(7).trim()
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

/**
 * Returns the device token of an `Authorization` header after a check of its form and checksum; for a gateway, its key. Throws
 * 401. The device edge checks whether the token exists.
 */
export function requireDeviceToken(authorization: string | undefined, isGateway = false): string {
  const token = bearerToken(authorization)
  if (token === undefined) throw deviceTokenMissing()
  if (parseToken(token)?.prefix !== (isGateway ? 'fle' : 'fld')) throw deviceTokenRefused()
  return token
}

/** 401 for a call without a device token. */
export const deviceTokenMissing = () =>
  unauthenticated('Send the device token as "Authorization: Bearer fld_…".', 'Bearer realm="routerfleet"')

/** 401 for a token that is unknown, expired or revoked. */
export const deviceTokenRefused = () =>
  unauthenticated('The token is unknown, expired or revoked.', 'Bearer realm="routerfleet", error="invalid_token"')

const unauthenticated = (detail: string, challenge: string) =>
  new ServiceError(401, 'unauthenticated', detail, { headers: { 'WWW-Authenticate': challenge } })
