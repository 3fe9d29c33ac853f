import type { Context } from 'hono'
import { ServiceError } from '#core/errors'

/** Scripts of other sites cannot send this header without the permission of this service, which it gives to no site. */
const header = 'x-routerfleet-page'
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Protects a request with a cookie against forgery by another site: one that changes something must have the header
 * `X-Routerfleet-Page`, and a browser that states where a request comes from must state this site. Throws 403
 * `forged_request`.
 */
export function requireOwnPage(c: Context): void {
  if (safeMethods.has(c.req.method)) return
  const site = c.req.header('sec-fetch-site')
  if (c.req.header(header) !== undefined && (site === undefined || site === 'same-origin')) return
  throw new ServiceError(
    403,
    'forged_request',
    'A request with a session cookie must come from the web page and have the header X-Routerfleet-Page. Integrations use API keys.',
  )
}
