/** Puts small numbers (items) into buckets by key. An item is in at most one bucket. */
export type Buckets = {
  /** Moves an item into the bucket of a key from 0 to 2^32 − 2. */
  place(item: number, key: number): void
  remove(item: number): void
  forEach(key: number, visit: (item: number) => void): void
  /** Estimated bytes in memory. */
  bytes(): number
}

const none = -1
const mapEntryBytes = 40

/** Empty buckets: linked lists in typed arrays, so that an item takes 12 bytes and each change the same time. */
export function createBuckets(): Buckets {
  let next = new Int32Array(1_024).fill(none)
  let previous = new Int32Array(1_024).fill(none)
  /** The key plus one; 0 if the item is in no bucket. */
  let keys = new Uint32Array(1_024)
  const heads = new Map<number, number>()

  const grow = (items: number): void => {
    const capacity = Math.max(items, 2 * keys.length)
    next = copied(next, new Int32Array(capacity).fill(none))
    previous = copied(previous, new Int32Array(capacity).fill(none))
    keys = copied(keys, new Uint32Array(capacity))
  }
  const remove = (item: number): void => {
    const key = (keys[item] ?? 0) - 1
    if (key < 0) return
    const [before = none, after = none] = [previous[item], next[item]]
    if (before !== none) next[before] = after
    else if (after !== none) heads.set(key, after)
    else heads.delete(key)
    if (after !== none) previous[after] = before
    keys[item] = 0
  }

  return {
    remove,
    place(item, key) {
      if (item >= keys.length) grow(item + 1)
      if (keys[item] === key + 1) return
      remove(item)
      const head = heads.get(key) ?? none
      keys[item] = key + 1
      previous[item] = none
      next[item] = head
      if (head !== none) previous[head] = item
      heads.set(key, item)
    },
    forEach(key, visit) {
      for (let item = heads.get(key) ?? none; item !== none; item = next[item] ?? none) visit(item)
    },
    bytes: () => next.byteLength + previous.byteLength + keys.byteLength + heads.size * mapEntryBytes,
  }
}

function copied<Values extends Int32Array | Uint32Array>(from: Values, into: Values): Values {
  into.set(from)
  return into
}
