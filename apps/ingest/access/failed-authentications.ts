import type { IncomingMessage } from 'node:http'
import { ServiceError } from '#core/errors'
import { networkOf } from '#core/network-of'
import { createRateLimiter } from '#http/rate-limit'
import type { RedisClient } from '#redis/connect'

export type FailedAuthentications = {
  /** Returns the address of a request's client, or its network with IPv6, as reported by trusted proxies. */
  addressOf(request: IncomingMessage): string
  /** Counts a 401 for the request's address. Throws 429 if the address has failed too often in this minute. */
  count(request: IncomingMessage, error: unknown): Promise<void>
}

const failuresPerMinute = 120

/**
 * Limits attempts to guess tokens. A valid token is never rejected because of other failures from its address: a carrier
 * may put a whole fleet behind one address. With Redis, all copies of ingest count together.
 */
export function createFailedAuthentications(proxyHops: number, redis?: RedisClient): FailedAuthentications {
  const limiter = createRateLimiter('failed-device-authentication', redis)
  return {
    addressOf: (request) => clientAddress(request, proxyHops),
    async count(request, error) {
      if (!(error instanceof ServiceError && error.status === 401)) return
      await limiter.consume(clientAddress(request, proxyHops), failuresPerMinute)
    },
  }
}

/**
 * Returns the socket's address or, behind trusted proxies, the entry of X-Forwarded-For that the outermost proxy wrote; with
 * IPv6, the network of that address. Entries further left come from the client and are not trusted.
 */
function clientAddress(request: IncomingMessage, proxyHops: number): string {
  const socketAddress = request.socket.remoteAddress ?? 'unknown'
  if (proxyHops === 0) return networkOf(socketAddress)
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
  return networkOf(forwarded.at(-proxyHops)?.trim() || socketAddress)
}
