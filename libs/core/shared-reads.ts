import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import { clientClosedRequest, throwIfClosed } from './errors.ts'

/** Values that are expensive to make. Each is made once for all callers, and kept for later ones. */
export type SharedReads<Value> = {
  /**
   * The fresh value of this key, or the one that is being made, or a new one from `make`. Returns a value that is no longer
   * fresh, but not too old, if the new one is not available at once. Errors are not kept. Throws 499 if `signal` aborts first.
   */
  read(key: string, make: Make<Value>, signal?: AbortSignal): Promise<Value>
  /** Size of the kept values, in the unit of `sizeOf`. */
  keptSize(): number
}

/** `abandoned` aborts when no caller waits for the value. `before` is the value that the new one replaces. */
type Make<Value> = (abandoned: AbortSignal, before: Value | undefined) => Promise<Value>

/** Times of a value: it is fresh before `freshUntilMs`, and too old from `oldestUntilMs` on, which is the same by default. */
type Ages = { freshUntilMs: number; oldestUntilMs?: number }

type Rules<Value> = {
  clock: Clock
  /** Determines the times of a value that was made from `startedMs` to `endedMs`. */
  agesOf(value: Value, startedMs: number, endedMs: number): Ages
  /** The least recently used values beyond this size are dropped. A value that is larger is returned but not kept. */
  maxSize: number
  /** 1 by default, so that `maxSize` is a number of values. */
  sizeOf?: (value: Value, key: string) => number
  /** Drops a value that was not read for this long; by default, only for want of room. */
  forgottenAfterMs?: number
  /** Called before the first reader gets the value, without an await in between. */
  onKept?: (value: Value) => void
}

// Readers wait this long for a new value before they get the previous one.
const patienceMs = 40

export function createSharedReads<Value>(rules: Rules<Value>): SharedReads<Value> {
  const { clock, agesOf, maxSize, sizeOf = () => 1, forgottenAfterMs, onKept } = rules
  const kept = new LRUCache<string, Required<Ages> & { value: Value }>({
    maxSize,
    sizeCalculation: ({ value }, key) => sizeOf(value, key),
    perf: { now: clock },
    ttlResolution: 0,
    updateAgeOnGet: true,
    ...(forgottenAfterMs !== undefined && { ttl: forgottenAfterMs, ttlAutopurge: true }),
  })
  const making = new Map<string, SharedWork<Value>>()

  const makeOne = async (key: string, make: Make<Value>, abandoned: AbortSignal): Promise<Value> => {
    const startedMs = clock()
    const value = await make(abandoned, kept.peek(key)?.value)
    const { freshUntilMs, oldestUntilMs = freshUntilMs } = agesOf(value, startedMs, clock())
    onKept?.(value)
    kept.set(key, { value, freshUntilMs, oldestUntilMs })
    return value
  }
  const begun = (key: string, make: Make<Value>): SharedWork<Value> => {
    const known = making.get(key)
    if (known && !known.isAbandoned()) return known
    const work = createSharedWork((abandoned) => makeOne(key, make, abandoned))
    making.set(key, work)
    const forget = () => {
      if (making.get(key) === work) making.delete(key)
    }
    work.result.then(forget, forget)
    return work
  }

  return {
    async read(key, make, signal) {
      const nowMs = clock()
      const known = kept.get(key)
      if (known && nowMs < known.freshUntilMs) return known.value
      const work = begun(key, make)
      if (!known || nowMs >= known.oldestUntilMs) return work.join(signal)
      // If it fails, the previous value remains; the next reader retries.
      work.keep()
      const previous = () => known.value
      return Promise.race([work.result, delay(patienceMs).then(previous)]).catch(previous)
    },
    keptSize: () => kept.calculatedSize,
  }
}

/** Work that several callers wait for. It is aborted when all callers have disconnected. */
type SharedWork<Result> = {
  result: Promise<Result>
  /** Waits for the result. Throws 499 when `signal` aborts first. */
  join(signal?: AbortSignal): Promise<Result>
  /** Lets the work finish even if all callers disconnect. */
  keep(): void
  isAbandoned(): boolean
}

function createSharedWork<Result>(work: (abandoned: AbortSignal) => Promise<Result>): SharedWork<Result> {
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
