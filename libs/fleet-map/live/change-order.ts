/** Small numbers (items) in the order of their last change. */
export type ChangeOrder = {
  /** Makes an item the newest. Adds it if it is not in the order. */
  touch(item: number): void
  remove(item: number): void
  /** Calls `visit` for each item from the newest on, until it returns false. The order must not change meanwhile. */
  fromNewest(visit: (item: number) => boolean): void
}

const none = -1

/** An empty order: a linked list in typed arrays, so that an item takes 8 bytes and each change the same time. */
export function createChangeOrder(): ChangeOrder {
  // Each item points at itself while it is not in the order.
  let older = selves(0, 1_024)
  let newer = selves(0, 1_024)
  let newest = none

  const grow = (items: number): void => {
    const from = older.length
    const added = selves(from, Math.max(items, 2 * from) - from)
    older = joined(older, added)
    newer = joined(newer, added)
  }
  const remove = (item: number): void => {
    const [before = item, after = item] = [older[item], newer[item]]
    if (before === item) return
    if (before !== none) newer[before] = after
    if (after === none) newest = before
    else older[after] = before
    older[item] = item
    newer[item] = item
  }

  return {
    remove,
    touch(item) {
      if (item >= older.length) grow(item + 1)
      if (item === newest) return
      remove(item)
      older[item] = newest
      newer[item] = none
      if (newest !== none) newer[newest] = item
      newest = item
    },
    fromNewest(visit) {
      for (let item = newest; item !== none && visit(item); ) item = older[item] ?? none
    },
  }
}

const selves = (from: number, count: number): Int32Array =>
  Int32Array.from({ length: count }, (_, index) => from + index)

function joined(a: Int32Array, b: Int32Array): Int32Array {
  const both = new Int32Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
