import { inHalves } from '#postgres/failing-alone'

/**
 * Turns work on many items at once into work on one: what is asked for while a call runs goes together into the next
 * call. Under load a hundred callers share one transaction; alone, a caller waits for nobody. `run` does all of its work
 * or none: where it fails, halves of the items are tried by themselves, so that an item which cannot be worked on fails
 * alone.
 */
export function coalesce<Item, Result>(
  run: (items: readonly Item[]) => Promise<(item: Item) => Result>,
  maxItems: number,
): (item: Item) => Promise<Result> {
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }
  const waiting: Waiting[] = []
  let running = false

  const serve = async (batch: readonly Waiting[]): Promise<void> => {
    const resultOf = await run(batch.map(({ item }) => item))
    for (const { item, resolve } of batch) resolve(resultOf(item))
  }

  const drain = async () => {
    running = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems)
      await inHalves(batch, serve, ({ reject }, error) => reject(error)).catch((error: unknown) => {
        for (const { reject } of batch) reject(error)
      })
    }
    running = false
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      // Not at once: callers of the same turn of the event loop belong together.
      if (!running) {
        running = true
        setImmediate(drain)
      }
    })
}
