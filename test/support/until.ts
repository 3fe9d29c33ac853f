import { setTimeout as delay } from 'node:timers/promises'

/** Waits until `condition` gives something other than undefined or false, and returns it; fails after `withinMs`. */
export async function until<Result>(
  what: string,
  condition: () => Promise<Result | undefined | false>,
  withinMs = 10_000,
): Promise<Result> {
  const giveUpAt = Date.now() + withinMs
  for (;;) {
    const result = await condition()
    if (result !== undefined && result !== false) return result
    if (Date.now() > giveUpAt) throw new Error(`Waited ${withinMs} ms in vain: ${what}`)
    await delay(20)
  }
}
