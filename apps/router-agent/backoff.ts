export type Backoff = {
  /** Milliseconds to wait before the next attempt, at least the server's `Retry-After`. */
  next: (retryAfterMs?: number) => number
  /** Call after a success: the next delay is short again. */
  reset: () => void
}

type BackoffOptions = { baseMs?: number; maxMs?: number; random?: () => number }

/**
 * Exponential back-off with jitter: the n-th delay is random in [ceiling/2, ceiling), with ceiling = base × 2ⁿ up to the
 * maximum. Adds up to a fifth to a `Retry-After`, so that a fleet that received the same value does not return at once.
 */
export function createBackoff({ baseMs = 1_000, maxMs = 120_000, random = Math.random }: BackoffOptions = {}): Backoff {
  let failures = 0
  return {
    next(retryAfterMs = 0) {
      const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(failures, 30))
      failures += 1
      const ownMs = ceilingMs * (0.5 + random() / 2)
      return Math.max(ownMs, retryAfterMs * (1 + random() / 5))
    },
    reset() {
      failures = 0
    },
  }
}
