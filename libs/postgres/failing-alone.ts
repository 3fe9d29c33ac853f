import { isUnavailable } from '#postgres/errors'

/**
 * Works on all items in one go and, where that fails, on halves of them: one that cannot be worked on fails alone,
 * which `onFailure` hears of, and holds up none of the others. `work` does all of its items or none. Rejects when the
 * database is away, which it then is for each of them; what was done by then stays done.
 */
export async function inHalves<Item>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<unknown>,
  onFailure: (item: Item, error: unknown) => void,
): Promise<void> {
  const [first] = items
  if (first === undefined) return
  try {
    await work(items)
  } catch (error) {
    if (isUnavailable(error)) throw error
    if (items.length === 1) return onFailure(first, error)
    const middle = items.length >>> 1
    await inHalves(items.slice(0, middle), work, onFailure)
    await inHalves(items.slice(middle), work, onFailure)
  }
}

/**
 * The sum of what `work` says of each item, one after the other. One that fails is told to `onFailure` and does not keep
 * those behind it waiting. Rejects when the database is away.
 */
export async function sumOfEach<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<number>,
  onFailure: (error: unknown) => void,
): Promise<number> {
  let sum = 0
  for (const item of items) {
    try {
      sum += await work(item)
    } catch (error) {
      if (isUnavailable(error)) throw error
      onFailure(error)
    }
  }
  return sum
}
