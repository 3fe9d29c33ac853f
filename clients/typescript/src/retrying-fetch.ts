/** Sends a request. The standard `fetch` is one. */
export type Fetch = (request: Request) => Promise<Response>

export type RetryOptions = {
  /** How often a request is sent at most; 4 by default. */
  attempts?: number
  /** Waits; the standard timer by default. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** The service did not process a request with these statuses, or its proxy could not reach it. */
const temporary = new Set([429, 502, 503, 504])

const firstWaitMs = 250
const longestWaitMs = 30_000

/**
 * Returns a fetch function that repeats a request after a connection error, 429, 502, 503 and 504. It waits for the time in
 * `Retry-After`, otherwise twice as long after each attempt. A repeated POST carries the same idempotency key, so that the
 * service does its work once.
 */
export function retryingFetch(fetch: Fetch, { attempts = 4, wait = pause }: RetryOptions = {}): Fetch {
  return async (request) => {
    const sent = withIdempotencyKey(request)
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt >= attempts
      try {
        const response = await fetch(sent.clone())
        if (isLast || !temporary.has(response.status)) return response
        await response.body?.cancel()
        await wait(retryAfterMs(response) ?? backOffMs(attempt), sent.signal)
      } catch (error) {
        if (isLast || sent.signal.aborted) throw error
        await wait(backOffMs(attempt), sent.signal)
      }
    }
  }
}

const header = 'Idempotency-Key'

function withIdempotencyKey(request: Request): Request {
  if (request.method !== 'POST' || request.headers.has(header)) return request
  const headers = new Headers(request.headers)
  headers.set(header, crypto.randomUUID())
  return new Request(request, { headers })
}

/** The time in `Retry-After` in ms; undefined without the header. */
export function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? Math.min(seconds * 1_000, longestWaitMs) : undefined
}

/** Doubles with each attempt. Half of it is random, so that many clients do not return at the same time. */
export function backOffMs(attempt: number): number {
  const ms = Math.min(firstWaitMs * 2 ** (attempt - 1), longestWaitMs)
  return ms / 2 + (ms / 2) * Math.random()
}

/** Resolves after `ms`. Rejects with the signal's reason when it aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
