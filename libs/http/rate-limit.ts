import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '#core/errors'
import type { RedisClient } from '#redis/connect'

type RateLimitState = { perMinute: number; remaining: number; resetSeconds: number }

export type RateLimiter = {
  /** Counts one event for the key. Throws 429 with `Retry-After` when the limit of this minute is exceeded. */
  consume(key: string, perMinute: number): Promise<RateLimitState>
}

const windowSeconds = 60

/**
 * Counts events per key and minute: in this process, or in Redis to share the limit between replicas. While Redis is
 * unavailable, each process counts separately.
 */
export function createRateLimiter(name: string, redis?: RedisClient): RateLimiter {
  const limiters = new Map<number, RateLimiterAbstract>()
  const limiterOf = (perMinute: number): RateLimiterAbstract => {
    let limiter = limiters.get(perMinute)
    if (!limiter) {
      const options = { points: perMinute, duration: windowSeconds, keyPrefix: `limit:${name}:${perMinute}` }
      const memory = new RateLimiterMemory(options)
      limiter = redis ? new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: memory }) : memory
      limiters.set(perMinute, limiter)
    }
    return limiter
  }
  return {
    async consume(key, perMinute) {
      try {
        return stateOf(await limiterOf(perMinute).consume(key), perMinute)
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) throw tooMany(stateOf(refusal, perMinute))
        throw refusal
      }
    },
  }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers: the policy (name, quota and window) and the remaining quota. */
export const rateLimitHeaders = (
  { perMinute, remaining, resetSeconds }: RateLimitState,
  policy = 'minute',
): Record<string, string> => ({
  'RateLimit-Policy': `"${policy}";q=${perMinute};w=${windowSeconds}`,
  RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
})

const stateOf = (result: RateLimiterRes, perMinute: number): RateLimitState => ({
  perMinute,
  remaining: Math.max(0, result.remainingPoints),
  resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
})

const tooMany = (state: RateLimitState) =>
  new ServiceError(
    429,
    'rate_limited',
    `Rate limit of ${state.perMinute} per minute exceeded. Retry in ${state.resetSeconds} s.`,
    {
      headers: { 'Retry-After': String(state.resetSeconds), ...rateLimitHeaders({ ...state, remaining: 0 }) },
    },
  )
