import type { IncomingMessage } from 'node:http'
import { ServiceError } from '#core/errors'
import { createRateLimiter } from '#http/rate-limit'

export type FailedAuthentications = {
  /** Throws 429 when this address has failed too often in this minute. */
  refuseExhausted(request: IncomingMessage): Promise<void> | undefined
  /** Counts a 401 against the request's address. */
  count(request: IncomingMessage, error: unknown): Promise<void>
}

const failuresPerMinute = 120

/** Slows down whoever guesses tokens; per address, so that nobody else is slowed down with him. */
export function createFailedAuthentications(proxyHops: number): FailedAuthentications {
  const limiter = createRateLimiter('failed-device-authentication')
  const suspects = new Map<string, number>()

  return {
    refuseExhausted(request) {
      // Nearly every request comes from an address that never failed, and must not wait for a promise to say so.
      if (suspects.size === 0) return undefined
      const address = clientAddress(request, proxyHops)
      return suspects.has(address) ? limiter.refuseExhausted(address, failuresPerMinute) : undefined
    },
    async count(request, error) {
      if (!(error instanceof ServiceError && error.status === 401)) return
      const address = clientAddress(request, proxyHops)
      const nowMs = Date.now()
      if (suspects.size >= 10_000) suspects.clear()
      suspects.set(address, nowMs)
      await limiter.consume(address, failuresPerMinute)
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
