import { pause } from '#core/schedule'
import { isLockTimeout } from '#postgres/errors'

const firstPauseMs = 500
const longestPauseMs = 30_000
const saidEveryMs = 30_000

type LockWait = {
  /** When to give up. Default: half an hour, which is longer than most backups take. */
  giveUpAfterMs?: number
  /** Called after the first failed attempt and then every half minute, with how long the work has waited so far. */
  onWait?: (waitedMs: number) => Promise<void> | void
}

/**
 * Runs work that changes the schema, and again while it does not get a lock in time. Other statements queue behind one that
 * waits for a lock on a whole table, so each attempt waits for seconds only, and the pauses between them let the others
 * pass. Rejects with the error of the last attempt. `work` must undo its effects when it fails.
 */
export async function waitForLocks<Result>(work: () => Promise<Result>, wait: LockWait = {}): Promise<Result> {
  const { giveUpAfterMs = 30 * 60_000, onWait } = wait
  const startedMs = performance.now()
  let saidMs = Number.NEGATIVE_INFINITY
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const waitedMs = performance.now() - startedMs
      if (!isLockTimeout(error) || waitedMs >= giveUpAfterMs) throw error
      if (waitedMs - saidMs >= saidEveryMs) {
        saidMs = waitedMs
        await onWait?.(waitedMs)
      }
    }
    await pause(Math.min(firstPauseMs * 2 ** Math.min(attempt, 10), longestPauseMs))
  }
}
