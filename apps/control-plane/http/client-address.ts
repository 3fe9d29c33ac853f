import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { networkOf } from '#core/network-of'

/**
 * The client's address, or its network with IPv6, for limits: from the socket or, behind trusted proxies, the entry of
 * X-Forwarded-For that the outermost proxy added. Entries further left come from the client and are not trustworthy.
 */
export function clientAddress(c: Context, trustedProxyHops: number): string {
  const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming
  const socketAddress = incoming?.socket.remoteAddress ?? 'unknown'
  if (trustedProxyHops === 0) return networkOf(socketAddress)
  const forwarded = (c.req.header('x-forwarded-for') ?? '').split(',').map((entry) => entry.trim())
  return networkOf(forwarded.at(-trustedProxyHops) || socketAddress)
}
