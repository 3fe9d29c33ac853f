import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { forEachInSlices, mapInSlices } from '#core/slices'
import type { Revisions } from '#fleet-map/revisions'
import { createSharedWork, type SharedWork } from '#fleet-map/shared-work'

/** `revision`: of the item's last change. `isGone`: the item was removed from the list. */
type Stamped<Item> = { item: Item; revision: number; isGone: boolean }

type SharedList<Facts, Item> = { facts: Facts; entries: Stamped<Item>[] }

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

type Kept<List> = { list: List; freshUntilMs: number; oldestUntilMs: number }

const shortestLifeMs = 1_000
// A list lives for this multiple of its cost, so that making it uses about a twentieth of the time.
const lifePerCost = 20
// A reader with at most this pause between reads starts the next list early enough to get it within the longest life,
// even if the next list takes twice as long.
const readerPauseMs = 5_000
const successorCosts = 2
// Readers wait this long for a new list before they get the previous list.
const patienceMs = 40
const forgottenAfterMs = 5 * 60_000
const listBytes = 500
const keptRefusals = 1_000

/** Lists that are expensive to make. Each list is made once for all callers, is cached, and marks its changes. */
export function createSharedLists<Request, Facts, Item>(
  rules: Rules<Request, Facts, Item>,
): SharedLists<Request, Facts, Item> {
  type List = SharedList<Facts, Item>
  const lists = new LRUCache<string, Kept<List>>({
    maxSize: rules.maxBytes,
    sizeCalculation: ({ list }, key) => listBytes + 2 * key.length + list.entries.length * rules.itemBytes,
    ttl: forgottenAfterMs,
    updateAgeOnGet: true,
    ttlResolution: 0,
    perf: { now: rules.clock },
  })
  const making = new Map<string, SharedWork<List>>()
  /** Finding out that a list is too large can cost as much as a list. */
  const refusals = new LRUCache<string, { error: ServiceError; untilMs: number }>({ max: keptRefusals })

  const makeOrRefuse = async (key: string, request: Request, signal: AbortSignal): Promise<List> => {
    const startedMs = rules.clock()
    try {
      return await make(key, request, signal)
    } catch (error) {
      if (error instanceof ServiceError && error.status === 400) {
        const costMs = rules.clock() - startedMs
        refusals.set(key, { error, untilMs: startedMs + Math.max(rules.longestLifeMs, costMs * lifePerCost) })
      }
      throw error
    }
  }
  const make = async (key: string, request: Request, signal: AbortSignal): Promise<List> => {
    const startedMs = rules.clock()
    const { facts, items } = await rules.make(request, signal)
    const before = lists.peek(key)?.list.entries ?? []
    const { entries, changed } = await compareItems(items, before, rules)
    const list = { facts, entries }
    const endedMs = rules.clock()
    const tookMs = endedMs - startedMs
    const oldestUntilMs = startedMs + Math.max(rules.longestLifeMs, tookMs * lifePerCost)
    const successorDueMs = oldestUntilMs - readerPauseMs - successorCosts * tookMs
    const freshUntilMs = Math.max(endedMs + shortestLifeMs, Math.min(endedMs + tookMs * lifePerCost, successorDueMs))
    // Without an await in between, so that a reader of the revision also finds its entries.
    const revision = changed.length > 0 ? rules.revisions.next() : 0
    for (const entry of changed) entry.revision = revision
    lists.set(key, { list, freshUntilMs, oldestUntilMs })
    return list
  }

  const begun = (key: string, request: Request): SharedWork<List> => {
    const known = making.get(key)
    if (known && !known.isAbandoned()) return known
    const work = createSharedWork((signal) => makeOrRefuse(key, request, signal))
    making.set(key, work)
    const forget = () => {
      if (making.get(key) === work) making.delete(key)
    }
    work.result.then(forget, forget)
    return work
  }

  return {
    async read(request, signal) {
      const nowMs = rules.clock()
      const key = rules.keyOf(request)
      const known = lists.get(key)
      if (known && nowMs < known.freshUntilMs) return known.list
      const refusal = known ? undefined : refusals.get(key)
      if (refusal && nowMs < refusal.untilMs) throw refusal.error
      const work = begun(key, request)
      if (!known || nowMs > known.oldestUntilMs) return work.join(signal)
      // If it fails, keep the previous list; the next reader retries.
      work.keep()
      const asBefore = () => known.list
      return Promise.race([work.result, delay(patienceMs).then(asBefore)]).catch(asBefore)
    },
    keptBytes: () => lists.calculatedSize,
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
