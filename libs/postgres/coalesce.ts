import { bisect } from './bisect.ts'

/**
 * Returns a function for single items that processes them in batches: items that arrive during a call of `run` form the
 * next call. Under load, a hundred callers share one transaction; a single caller does not wait. `run` must process all of
 * its items or none. When it fails, the batch is bisected, so that only the item that cannot be processed is rejected.
 */
export function coalesce<Item, Result>(
  run: (items: readonly Item[]) => Promise<(item: Item) => Result>,
  maxItems: number,
): (item: Item) => Promise<Result> {
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }
  const waiting: Waiting[] = []
  let running = false

  const process = async (batch: readonly Waiting[]): Promise<void> => {
    const resultOf = await run(batch.map(({ item }) => item))
    for (const { item, resolve } of batch) resolve(resultOf(item))
  }

  const drain = async () => {
    running = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems)
      await bisect(batch, process, ({ reject }, error) => reject(error)).catch((error: unknown) => {
        for (const { reject } of batch) reject(error)
      })
    }
    running = false
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      // Deferred, so that callers of the same turn of the event loop share a call.
      if (!running) {
        running = true
        setImmediate(drain)
      }
    })
}
