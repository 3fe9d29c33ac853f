import { ServiceError } from '#core/errors'
import { isStatementTimeout, isStoreUnavailable, isUnavailable } from '#postgres/errors'

/**
 * Processes all items at once. When that fails, splits them in halves and processes each half separately, so that an item
 * which cannot be processed does not stop the others; it is passed to `onFailure`. `work` must process all of its items or
 * none. Rejects when the database is unavailable, a lock was not released or `work` is refused; what was processed before
 * stays processed.
 */
export const bisect = <Item>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<unknown>,
  onFailure: (item: Item, error: unknown) => void,
): Promise<void> =>
  splitOnFailure(items, {
    work,
    onFailure,
    stops: (error, count) => isUnavailable(error) && !(isStatementTimeout(error) && count > 1),
  })

/**
 * Processes the items of all owners at once. When that fails, processes fewer owners at a time, so that an owner whose items
 * cannot be processed now, for example because another transaction has locked them, does not stop the others; it is passed to
 * `onFailure`. Otherwise like `bisect`.
 */
export const bisectOwners = <Item>(
  items: readonly Item[],
  ownerOf: (item: Item) => string,
  work: (items: readonly Item[]) => Promise<unknown>,
  onFailure: (owner: string, error: unknown) => void,
): Promise<void> =>
  splitOnFailure([...Map.groupBy(items, ownerOf)], {
    work: (owned) => work(owned.flatMap(([, some]) => some)),
    onFailure: ([owner], error) => onFailure(owner, error),
    stops: isStoreUnavailable,
  })

type Splitting<Item> = {
  work: (items: readonly Item[]) => Promise<unknown>
  onFailure: (item: Item, error: unknown) => void
  /** Whether fewer items than `count` would fail with this error too. */
  stops: (error: unknown, count: number) => boolean
}

async function splitOnFailure<Item>(items: readonly Item[], splitting: Splitting<Item>): Promise<void> {
  const [first] = items
  if (first === undefined) return
  try {
    await splitting.work(items)
  } catch (error) {
    // A refusal concerns all items.
    if (splitting.stops(error, items.length) || error instanceof ServiceError) throw error
    if (items.length === 1) return splitting.onFailure(first, error)
    const middle = items.length >>> 1
    await splitOnFailure(items.slice(0, middle), splitting)
    await splitOnFailure(items.slice(middle), splitting)
  }
}

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
      if (isStoreUnavailable(error)) throw error
      onFailure(error, item)
    }
  }
  return sum
}
