import { setTimeout as delay } from 'node:timers/promises'

/** Waits until `condition` returns a value other than undefined or false, and returns the value. Fails after `withinMs`. */
export async function until<Result>(
  what: string,
  condition: () => Promise<Result | undefined | false>,
  withinMs = 30_000,
): Promise<Result> {
  const giveUpAt = Date.now() + withinMs
  for (;;) {
    const result = await condition()
    if (result !== undefined && result !== false) return result
    if (Date.now() > giveUpAt) throw new Error(`Timed out after ${withinMs} ms: ${what}`)
    await delay(20)
  }
}
