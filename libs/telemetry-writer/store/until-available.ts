import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '#core/error-text'

/** Repeats work until it succeeds. Rejects when the signal is aborted. */
export type UntilAvailable = <Result>(work: () => Promise<Result>) => Promise<Result>

const firstPauseMs = 100
const longestPauseMs = 5_000

/** `onRetry` receives the message of each failure. */
export function createUntilAvailable(signal: AbortSignal, onRetry: (detail: string) => void): UntilAvailable {
  return async (work) => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await work()
      } catch (error) {
        signal.throwIfAborted()
        onRetry(errorText(error))
        await delay(pauseMs, undefined, { signal })
      }
    }
  }
}
