import { clientClosedRequest, throwIfClosed } from '#core/errors'

/** Work that several callers wait for. It is aborted when all callers have disconnected. */
export type SharedWork<Result> = {
  result: Promise<Result>
  /** Waits for the result. Throws 499 when `signal` aborts first. */
  join(signal?: AbortSignal): Promise<Result>
  /** Lets the work finish even if all callers disconnect. */
  keep(): void
  isAbandoned(): boolean
}

/** Starts work that callers can then join. */
export function createSharedWork<Result>(work: (signal: AbortSignal) => Promise<Result>): SharedWork<Result> {
  const abandon = new AbortController()
  let waiting = 0
  let isKept = false
  const result = work(abandon.signal)
  // Callers get the error. Without callers, it must not end the process.
  result.catch(() => {})
  return {
    result,
    async join(signal) {
      throwIfClosed(signal)
      waiting++
      try {
        return await orGone(result, signal)
      } finally {
        waiting--
        if (waiting === 0 && !isKept && signal?.aborted) abandon.abort()
      }
    },
    keep() {
      isKept = true
    },
    isAbandoned: () => abandon.signal.aborted,
  }
}

function orGone<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return result
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(clientClosedRequest())
    signal.addEventListener('abort', onAbort, { once: true })
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
