/**
 * Turns work on many items at once into work on one: what is asked for while a call runs goes together into the next
 * call. Under load a hundred callers share one transaction; alone, a caller waits for nobody.
 */
export function coalesce<Item, Result>(
  run: (items: readonly Item[]) => Promise<(item: Item) => Result>,
  maxItems: number,
): (item: Item) => Promise<Result> {
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }
  const waiting: Waiting[] = []
  let running = false

  const drain = async () => {
    running = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems)
      try {
        const resultOf = await run(batch.map(({ item }) => item))
        for (const { item, resolve } of batch) resolve(resultOf(item))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
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
