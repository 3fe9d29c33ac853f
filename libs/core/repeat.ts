import { setTimeout as delay } from 'node:timers/promises'

export type Repeating = { stop(): Promise<void> }

/**
 * Runs `work` again and again with a pause of `pauseMs` in between, never twice at once; a failure is told to `onError`
 * and tried again. `stop` waits for the run in progress.
 */
export function repeat(pauseMs: number, work: () => Promise<void>, onError: (error: unknown) => void): Repeating {
  const stopping = new AbortController()
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await work().catch(onError)
      await delay(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}
