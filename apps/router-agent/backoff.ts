export type Backoff = {
  /** Milliseconds to wait before the next try; with the server's `Retry-After` never less than that. */
  next: (retryAfterMs?: number) => number
  /** Call after a success: the next failure starts small again. */
  reset: () => void
}

type BackoffOptions = { baseMs?: number; maxMs?: number; random?: () => number }

/**
 * Exponential back-off with jitter: the n-th delay is drawn from [ceiling/2, ceiling), ceiling = base × 2ⁿ up to the
 * maximum. A `Retry-After` is honoured and spread over another fifth, because a fleet that was told "30 seconds" all at
 * once must not come back all at once.
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
