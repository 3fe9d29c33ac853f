import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { createSharedReads } from '#core/shared-reads'
import { forEachInSlices, mapInSlices } from '#core/slices'
import type { Revisions } from '#fleet-map/revisions'

/** `revision`: of the item's last change. `isGone`: the item was removed from the list. */
type Stamped<Item> = { item: Item; revision: number; isGone: boolean }

/** `number`: which of all lists it is. */
type SharedList<Facts, Item> = { number: number; facts: Facts; entries: Stamped<Item>[] }

export type SharedLists<Request, Facts, Item> = {
  /**
   * The list for a request, shared by all callers with the same request and never older than `longestLifeMs`, unless making
   * it takes so long that lists would be made all the time. Returns a list that is no longer fresh if the new list is not
   * available at once. Throws 499 if `signal` aborts while it waits. A request that was refused, because its list would be
   * too large, is refused again for as long as the list would have lived.
   */
  read(request: Request, signal?: AbortSignal): Promise<SharedList<Facts, Item>>
  /** Estimated bytes of the cached lists. */
  keptBytes(): number
}

type Rules<Request, Facts, Item> = {
  clock: Clock
  revisions: Revisions
  longestLifeMs: number
  /** Bytes of all lists together. */
  maxBytes: number
  /** Estimated bytes of one item in memory. */
  itemBytes: number
  keyOf(request: Request): string
  identify(item: Item): string
  /** The content of an item. The item has changed if its content differs. */
  contentOf(item: Item): string
  /** `signal` aborts when no caller waits for the list. */
  make(request: Request, signal: AbortSignal): Promise<{ facts: Facts; items: Item[] }>
}

const shortestLifeMs = 1_000
// A list lives for this multiple of its cost, so that making it uses about a twentieth of the time.
const lifePerCost = 20
// A reader with at most this pause between reads starts the next list early enough to get it within the longest life,
// even if the next list takes twice as long.
const readerPauseMs = 5_000
const successorCosts = 2
const forgottenAfterMs = 5 * 60_000
const listBytes = 500

/** A list, and its entries that still need a revision. Or why there is none: finding that out can cost as much as a list. */
type Made<Facts, Item> = { list: SharedList<Facts, Item>; changed: Stamped<Item>[] } | { refusal: ServiceError }

/** Lists that are expensive to make. Each list is made once for all callers, is cached, and marks its changes. */
export function createSharedLists<Request, Facts, Item>(
  rules: Rules<Request, Facts, Item>,
): SharedLists<Request, Facts, Item> {
  const { longestLifeMs, itemBytes, revisions } = rules
  let made = 0
  const lists = createSharedReads<Made<Facts, Item>>({
    clock: rules.clock,
    maxSize: rules.maxBytes,
    sizeOf: (made, key) => listBytes + 2 * key.length + ('list' in made ? made.list.entries.length * itemBytes : 0),
    forgottenAfterMs,
    agesOf(made, startedMs, endedMs) {
      const costMs = endedMs - startedMs
      const oldestUntilMs = startedMs + Math.max(longestLifeMs, costMs * lifePerCost)
      if ('refusal' in made) return { freshUntilMs: oldestUntilMs }
      const successorDueMs = oldestUntilMs - readerPauseMs - successorCosts * costMs
      const lastingMs = Math.min(endedMs + costMs * lifePerCost, successorDueMs)
      return { freshUntilMs: Math.max(endedMs + shortestLifeMs, lastingMs), oldestUntilMs }
    },
    // A reader of the revision must also find its entries.
    onKept(made) {
      if (!('list' in made) || made.changed.length === 0) return
      const revision = revisions.next()
      for (const entry of made.changed) entry.revision = revision
      made.changed = []
    },
  })

  return {
    async read(request, signal) {
      const make = async (
        abandoned: AbortSignal,
        before: Made<Facts, Item> | undefined,
      ): Promise<Made<Facts, Item>> => {
        const previous = before && 'list' in before ? before.list.entries : undefined
        try {
          const { facts, items } = await rules.make(request, abandoned)
          const { entries, changed } = await compareItems(items, previous ?? [], rules)
          return { list: { number: ++made, facts, entries }, changed }
        } catch (error) {
          if (previous || !(error instanceof ServiceError) || error.status !== 400) throw error
          return { refusal: error }
        }
      }
      const found = await lists.read(rules.keyOf(request), make, signal)
      if ('refusal' in found) throw found.refusal
      return found.list
    },
    keptBytes: lists.keptSize,
  }
}

/** The entries of a list, and of them those that are new, changed or gone and still need a revision. Works in slices. */
async function compareItems<Item>(
  items: readonly Item[],
  before: readonly Stamped<Item>[],
  rules: Pick<Rules<unknown, unknown, Item>, 'identify' | 'contentOf'>,
): Promise<{ entries: Stamped<Item>[]; changed: Stamped<Item>[] }> {
  const known = new Map<string, Stamped<Item>>()
  await forEachInSlices(before, (entry) => known.set(rules.identify(entry.item), entry))
  const changed: Stamped<Item>[] = []
  const entries = await mapInSlices(items, (item): Stamped<Item> => {
    const id = rules.identify(item)
    const previous = known.get(id)
    known.delete(id)
    const isSame = previous && !previous.isGone && rules.contentOf(previous.item) === rules.contentOf(item)
    const entry = { item, revision: isSame ? previous.revision : 0, isGone: false }
    if (!isSame) changed.push(entry)
    return entry
  })
  for (const left of known.values()) {
    const entry = left.isGone ? left : { ...left, isGone: true }
    if (!left.isGone) changed.push(entry)
    entries.push(entry)
  }
  return { entries, changed }
}
