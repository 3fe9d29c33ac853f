import type { IncomingMessage } from 'node:http'
import { ServiceError } from '#core/errors'
import { createRateLimiter } from '#http/rate-limit'

export type FailedAuthentications = {
  /** The address a request came from, as far as trusted proxies tell it. */
  addressOf(request: IncomingMessage): string
  /** Counts a 401 against the request's address. Throws 429 when that has failed too often in this minute. */
  count(request: IncomingMessage, error: unknown): Promise<void>
}

const failuresPerMinute = 120

/**
 * Slows down whoever guesses tokens, and nobody else: a carrier may put a whole fleet behind one address, of which one
 * router has an old token. So a good token is never refused for the failures of others.
 */
export function createFailedAuthentications(proxyHops: number): FailedAuthentications {
  const limiter = createRateLimiter('failed-device-authentication')
  return {
    addressOf: (request) => clientAddress(request, proxyHops),
    async count(request, error) {
      if (!(error instanceof ServiceError && error.status === 401)) return
      await limiter.consume(clientAddress(request, proxyHops), failuresPerMinute)
    },
  }
}

/**
 * The socket's address, or, behind trusted proxies, the entry of X-Forwarded-For that the outermost of them wrote.
 * Entries further left are the caller's own claim.
 */
function clientAddress(request: IncomingMessage, proxyHops: number): string {
  const socketAddress = request.socket.remoteAddress ?? 'unknown'
  if (proxyHops === 0) return socketAddress
  const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
  return forwarded.at(-proxyHops)?.trim() || socketAddress
}
