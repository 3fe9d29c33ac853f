import { openRedisClient, type RedisClient } from '#redis/connect'

/** A Redis that does not respond must not delay requests. */
const answerLimitMs = 500

/**
 * Connects to the Redis of shared rate limits. Commands reject at once while it is unavailable, and after 0.5 s if it does
 * not respond. It reconnects by itself.
 */
export function openRateLimitStore(url: string): RedisClient {
  const redis = openRedisClient(url, { rejects: true, commandTimeoutMs: answerLimitMs })
  redis.on('error', () => {})
  return redis
}
