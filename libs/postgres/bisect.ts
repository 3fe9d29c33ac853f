import { ServiceError } from '#core/errors'
import { isContended, isStatementTimeout, isUnavailable } from '#postgres/errors'

/**
 * Processes all items at once. When that fails, splits them in halves and processes each half separately, so that an item
 * which cannot be processed does not stop the others; it is passed to `onFailure`. `work` must process all of its items or
 * none. Rejects when the database is unavailable, a lock was not released or `work` is refused; what was processed before
 * stays processed.
 */
export async function bisect<Item>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<unknown>,
  onFailure: (item: Item, error: unknown) => void,
): Promise<void> {
  const [first] = items
  if (first === undefined) return
  try {
    await work(items)
  } catch (error) {
    const isTooMuch = isStatementTimeout(error) && items.length > 1
    // A refusal concerns all items.
    if ((isUnavailable(error) && !isTooMuch) || error instanceof ServiceError) throw error
    if (items.length === 1) return onFailure(first, error)
    const middle = items.length >>> 1
    await bisect(items.slice(0, middle), work, onFailure)
    await bisect(items.slice(middle), work, onFailure)
  }
}

/**
 * Processes the items of all owners at once. When that fails, processes fewer owners at a time, so that an owner whose items
 * cannot be processed does not stop the others; it is passed to `onFailure`. Otherwise like `bisect`.
 */
export const bisectOwners = <Item>(
  items: readonly Item[],
  ownerOf: (item: Item) => string,
  work: (items: readonly Item[]) => Promise<unknown>,
  onFailure: (owner: string, error: unknown) => void,
): Promise<void> =>
  bisect(
    [...Map.groupBy(items, ownerOf)],
    (owned) => work(owned.flatMap(([, some]) => some)),
    ([owner], error) => onFailure(owner, error),
  )

/**
 * Processes the items one after the other and returns the sum of the results. The error of an item that fails is passed to
 * `onFailure`, and the next item follows, also after a conflict or a time limit of this item. Rejects when the database is
 * unavailable.
 */
export async function sumOfEach<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<number>,
  onFailure: (error: unknown, item: Item) => void,
): Promise<number> {
  let sum = 0
  for (const item of items) {
    try {
      sum += await work(item)
    } catch (error) {
      if (isUnavailable(error) && !isContended(error)) throw error
      onFailure(error, item)
    }
  }
  return sum
}
