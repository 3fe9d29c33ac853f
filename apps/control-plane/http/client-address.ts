import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'

/**
 * The client's address: from the socket or, behind trusted proxies, the entry of X-Forwarded-For that the outermost
 * proxy added. Entries further left come from the client and are not trustworthy.
 */
export function clientAddress(c: Context, trustedProxyHops: number): string {
  const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming
  const socketAddress = incoming?.socket.remoteAddress ?? 'unknown'
  if (trustedProxyHops === 0) return socketAddress
  const forwarded = (c.req.header('x-forwarded-for') ?? '').split(',').map((entry) => entry.trim())
  return forwarded.at(-trustedProxyHops) || socketAddress
}
