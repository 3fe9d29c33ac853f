import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#core/clock'
import type { Revisions } from '#fleet/fleet-map/revisions'

/** `revision`: when the item last changed. `isGone`: it was in the list before and no longer is. */
export type Stamped<Item> = { item: Item; revision: number; isGone: boolean }

export type SharedList<Facts, Item> = { facts: Facts; entries: Stamped<Item>[] }

export type SharedLists<Request, Facts, Item> = {
  /**
   * The list for a request, the same for all who ask for the same, and not older than the longest life. One that is not
   * fresh any more is answered once more when its successor is not there at once.
   */
  read(request: Request): Promise<SharedList<Facts, Item>>
}

type Rules<Request, Facts, Item> = {
  clock: Clock
  revisions: Revisions
  longestLifeMs: number
  keyOf(request: Request): string
  identify(item: Item): string
  /** What of an item counts as its content; it has changed when this differs. */
  contentOf(item: Item): string
  make(request: Request): Promise<{ facts: Facts; items: Item[] }>
}

/** `next`: the list that is being made to follow this one. */
type Kept<List> = {
  list: Promise<List>
  madeMs: number
  freshUntilMs: number
  usedAtMs: number
  next?: Promise<List> | undefined
}

const shortestLifeMs = 1_000
// A list is fresh this many times as long as it took to make: at most a twentieth of the time goes into it.
const lifePerCost = 20
// But a reader who asks this often begins its successor soon enough to have it before the longest life ends, even if
// that takes twice as long to make.
const readerPauseMs = 5_000
const successorCosts = 2
// What is made in less is waited for.
const patienceMs = 40
const forgottenAfterMs = 5 * 60_000

/** Lists that are dear to make: each is made once for all who ask, lives a while, and knows what changed since before. */
export function createSharedLists<Request, Facts, Item>(
  rules: Rules<Request, Facts, Item>,
): SharedLists<Request, Facts, Item> {
  type List = SharedList<Facts, Item>
  const lists = new Map<string, Kept<List>>()

  const make = async (key: string, request: Request, before: List | undefined): Promise<List> => {
    const startedMs = rules.clock()
    const { facts, items } = await rules.make(request)
    const list = { facts, entries: stampItems(items, before?.entries ?? [], rules) }
    const endedMs = rules.clock()
    const tookMs = endedMs - startedMs
    const successorDueMs = startedMs + rules.longestLifeMs - readerPauseMs - successorCosts * tookMs
    lists.set(key, {
      list: Promise.resolve(list),
      madeMs: startedMs,
      freshUntilMs: Math.max(endedMs + shortestLifeMs, Math.min(endedMs + tookMs * lifePerCost, successorDueMs)),
      usedAtMs: lists.get(key)?.usedAtMs ?? endedMs,
    })
    return list
  }

  const renew = async (key: string, request: Request, known: Kept<List>): Promise<List> => {
    const before = await known.list.catch(() => undefined)
    try {
      return await make(key, request, before)
    } catch (error) {
      // The next reader tries again, from what was known before.
      known.next = undefined
      if (!before) lists.delete(key)
      throw error
    }
  }

  const begin = (key: string, request: Request, nowMs: number): Promise<List> => {
    const list = make(key, request, undefined)
    lists.set(key, { list, madeMs: nowMs, freshUntilMs: Number.POSITIVE_INFINITY, usedAtMs: nowMs })
    list.catch(() => lists.delete(key))
    return list
  }

  return {
    read(request) {
      const nowMs = rules.clock()
      for (const [key, { usedAtMs }] of lists) if (nowMs - usedAtMs > forgottenAfterMs) lists.delete(key)
      const key = rules.keyOf(request)
      const known = lists.get(key)
      if (!known) return begin(key, request, nowMs)
      known.usedAtMs = nowMs
      if (nowMs < known.freshUntilMs) return known.list
      known.next ??= renew(key, request, known)
      if (nowMs - known.madeMs > rules.longestLifeMs) return known.next
      const asBefore = () => known.list
      return Promise.race([known.next, delay(patienceMs).then(asBefore)]).catch(asBefore)
    },
  }
}

function stampItems<Item>(
  items: readonly Item[],
  before: readonly Stamped<Item>[],
  rules: Pick<Rules<unknown, unknown, Item>, 'revisions' | 'identify' | 'contentOf'>,
): Stamped<Item>[] {
  const known = new Map(before.map((entry) => [rules.identify(entry.item), entry]))
  const revision = rules.revisions.current() + 1
  const entries = items.map((item): Stamped<Item> => {
    const id = rules.identify(item)
    const previous = known.get(id)
    known.delete(id)
    const isSame = previous && !previous.isGone && rules.contentOf(previous.item) === rules.contentOf(item)
    return { item, revision: isSame ? previous.revision : revision, isGone: false }
  })
  for (const left of known.values()) entries.push(left.isGone ? left : { ...left, revision, isGone: true })
  if (entries.some((entry) => entry.revision === revision)) rules.revisions.next()
  return entries
}
