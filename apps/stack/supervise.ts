import { errorText } from '#core/error-text'
/** A running part. `exited` resolves with a phrase that says how it ended. */
export type Started = { pid: number; exited: Promise<string>; stop(): Promise<void> }

/** The events of a part after its first start. */
export type PartEvent =
  | { kind: 'ended'; how: string; restartInMs: number }
  | { kind: 'restarted'; pid: number }
  | { kind: 'refused'; reason: string; restartInMs: number }

/** `current` is the most recently started process of the part. */
export type Supervised<Part extends Started> = { current(): Part; stop(): Promise<void> }

/** A part that ran for this time has recovered, so the delay before its next restart is reset. */
const steadyAfterMs = 30_000
const shortestWaitMs = 100
// With the time that a part needs to start, an outage remains below five seconds.
const longestWaitMs = 2_000

/**
 * Starts a part and restarts it whenever it ends, until it is stopped. The delay grows while the part ends soon after its
 * start. Rejects with the reason of the part if the first start fails.
 */
export async function supervise<Part extends Started>(
  start: (signal: AbortSignal) => Promise<Part>,
  report: (event: PartEvent) => void,
): Promise<Supervised<Part>> {
  const stopping = new AbortController()
  let current = await start(stopping.signal)
  const watching = watch()

  async function watch(): Promise<void> {
    let waitMs = shortestWaitMs
    while (!stopping.signal.aborted) {
      const startedAt = Date.now()
      const how = await current.exited
      if (stopping.signal.aborted) return
      waitMs = Date.now() - startedAt > steadyAfterMs ? shortestWaitMs : Math.min(waitMs * 2, longestWaitMs)
      report({ kind: 'ended', how, restartInMs: waitMs })
      await startAgain()
    }

    async function startAgain(): Promise<void> {
      while (!stopping.signal.aborted) {
        await pause(waitMs, stopping.signal)
        if (stopping.signal.aborted) return
        try {
          current = await start(stopping.signal)
          report({ kind: 'restarted', pid: current.pid })
          return
        } catch (error) {
          if (stopping.signal.aborted) return
          waitMs = Math.min(waitMs * 2, longestWaitMs)
          report({
            kind: 'refused',
            reason: errorText(error),
            restartInMs: waitMs,
          })
        }
      }
    }
  }

  return {
    current: () => current,
    stop: async () => {
      stopping.abort()
      await current.stop()
      await watching
      // A restart may have completed during this call.
      await current.stop()
    },
  }
}

/** Resolves after `ms`, or immediately when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
