const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** The delay after each failed attempt. The last one repeats until the retry period is over. */
export const retryDelaysMs: readonly number[] = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
]

/** How long after its first attempt an event is retried. */
export const retryPeriodMs = 72 * hourMs

/** The longest time that a receiver can ask for in `Retry-After`. */
export const maxRetryAfterMs = 24 * hourMs

/** By which part of itself a delay can be shorter or longer. Receivers that recover do not get all retries at once. */
const jitter = 0.2

type FailedAttempts = {
  /** At least one. */
  failures: number
  firstMs: number
  nowMs: number
  /** What the receiver asked for; 0 if nothing. */
  retryAfterMs: number
  /** From 0 to 1. */
  random: number
}

/**
 * When the next attempt is due: after the delay, the last one when the retry period ends, and never before the receiver's
 * `Retry-After`. Undefined when the retry period is over.
 */
export function nextAttemptMs({ failures, firstMs, nowMs, retryAfterMs, random }: FailedAttempts): number | undefined {
  const endMs = firstMs + retryPeriodMs
  if (nowMs >= endMs) return undefined
  const delayMs = retryDelaysMs[Math.min(failures, retryDelaysMs.length) - 1] ?? 0
  const spreadMs = Math.round(delayMs * (1 - jitter + 2 * jitter * random))
  return Math.max(Math.min(nowMs + spreadMs, endMs), nowMs + Math.min(retryAfterMs, maxRetryAfterMs))
}

const seconds = /^\d{1,12}$/
// RFC 9110, 5.6.7. Servers must not send the two older forms.
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** How long a receiver asks to wait in a `Retry-After` header, as seconds or as a date. 0 if it asks for nothing. */
export function retryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0
  if (seconds.test(header)) return Number(header) * secondMs
  const atMs = httpDate.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs)
}
