import { setTimeout as delay } from 'node:timers/promises'

/** Resolves after `ms`, or earlier when the signal aborts. Never rejects. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, signal ? { signal } : {}).catch(() => {})

/** True when the promise resolves within `limitMs`; false when the time is over first. Rejects as the promise does. */
export async function resolvesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  const done = new AbortController()
  const late = pause(limitMs, done.signal).then(() => false)
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    done.abort()
  }
}

export type Repeating = {
  /** Runs the work now: ends the present pause, or skips the next one when the work is running. */
  wake(): void
  /** Ends the repetition. Resolves when a run in progress has ended. */
  stop(): Promise<void>
}

/**
 * Runs `work` at once and then again after each pause of `pauseMs`, never twice at the same time. Skips the pause when the
 * work returns true: there is more to do. A failed run is passed to `onError` and counts as one without more to do. The
 * pause does not keep the process running.
 */
export function repeat(pauseMs: number, work: () => Promise<unknown>, onError: (error: unknown) => void): Repeating {
  const stopping = new AbortController()
  let waking = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      waking = new AbortController()
      const hasMore = await work().catch(onError)
      if (hasMore === true || stopping.signal.aborted) continue
      await delay(pauseMs, undefined, { signal: waking.signal, ref: false }).catch(() => {})
    }
  }
  const running = run()
  return {
    wake: () => waking.abort(),
    async stop() {
      stopping.abort()
      waking.abort()
      await running
    },
  }
}
