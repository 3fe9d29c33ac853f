import type { Context } from 'hono'
import type { Principal } from '#fleet/access/principal'
import type { Services } from '../services.ts'
import { requireOwnPage } from './own-page.ts'

/**
 * The principal of a request: by the credentials in its header, which take precedence, or by the cookie of the web page. Long
 * responses call this again, so that they end with the credentials with which they began. `address`: the client's address;
 * without it, look-ups do not count towards the limit of an address. Throws like `Authenticator.authenticate`, and 403
 * `forged_request`.
 */
export async function authenticateCaller(
  { authenticator, sessionCookie }: Pick<Services, 'authenticator' | 'sessionCookie'>,
  http: Context,
  address?: string,
): Promise<Principal> {
  const authorization = http.req.header('authorization')
  const session = authorization === undefined ? sessionCookie.read(http) : undefined
  if (session === undefined) return authenticator.authenticate(authorization, address)
  requireOwnPage(http)
  return authenticator.authenticateSession(session, address)
}
