import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'

/**
 * The address a request came from: the socket's, or, behind trusted proxies, the entry of X-Forwarded-For that the
 * outermost of them wrote. Entries further left are the caller's own claim.
 */
export function clientAddress(c: Context, trustedProxyHops: number): string {
  const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming
  const socketAddress = incoming?.socket.remoteAddress ?? 'unknown'
  if (trustedProxyHops === 0) return socketAddress
  const forwarded = (c.req.header('x-forwarded-for') ?? '').split(',').map((entry) => entry.trim())
  return forwarded.at(-trustedProxyHops) || socketAddress
}
