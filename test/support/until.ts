import { setTimeout as delay } from 'node:timers/promises'

const shortestPauseMs = 20
const longestPauseMs = 500

/**
 * Waits until `condition` returns a value other than undefined or false, and returns the value. Fails after `withinMs`.
 *
 * A pause between two tries is a twentieth of the time waited so far, and no shorter than a try: waiting must not take the time of
 * what it waits for.
 */
export async function until<Result>(
  what: string,
  condition: () => Promise<Result | undefined | false>,
  withinMs = 30_000,
): Promise<Result> {
  const startMs = Date.now()
  for (;;) {
    const tryMs = Date.now()
    const result = await condition()
    if (result !== undefined && result !== false) return result
    const [waitedMs, tookMs] = [Date.now() - startMs, Date.now() - tryMs]
    if (waitedMs > withinMs) throw new Error(`Timed out after ${withinMs} ms: ${what}`)
    await delay(Math.max(shortestPauseMs, Math.min(waitedMs / 20, longestPauseMs), tookMs))
  }
}
