import type { Clock } from '#core/clock'
import type { Revisions } from '#fleet/fleet-map/revisions'

/** `revision`: when the item last changed. `isGone`: it was in the list before and no longer is. */
export type Stamped<Item> = { item: Item; revision: number; isGone: boolean }

export type SharedList<Facts, Item> = { facts: Facts; entries: Stamped<Item>[] }

export type SharedLists<Request, Facts, Item> = {
  /** The list for a request; not older than the longest life, and the same for all who ask for the same. */
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

type Kept<List> = { list: Promise<List>; untilMs: number; usedAtMs: number }

const shortestLifeMs = 1_000
// A list lives this many times as long as it took to make: at most a twentieth of the time goes into it.
const lifePerCost = 20
const forgottenAfterMs = 5 * 60_000

/** Lists that are dear to make: each is made once for all who ask, lives a while, and knows what changed since before. */
export function createSharedLists<Request, Facts, Item>(
  rules: Rules<Request, Facts, Item>,
): SharedLists<Request, Facts, Item> {
  type List = SharedList<Facts, Item>
  const lists = new Map<string, Kept<List>>()

  const make = async (request: Request, kept: Kept<List>, before: List | undefined): Promise<List> => {
    const startedMs = rules.clock()
    const { facts, items } = await rules.make(request)
    const endedMs = rules.clock()
    kept.untilMs =
      endedMs + Math.min(rules.longestLifeMs, Math.max(shortestLifeMs, (endedMs - startedMs) * lifePerCost))
    return { facts, entries: stampItems(items, before?.entries ?? [], rules) }
  }

  const renew = (key: string, request: Request, known: Kept<List> | undefined, nowMs: number): Promise<List> => {
    const before = Promise.resolve(known?.list).catch(() => undefined)
    const kept: Kept<List> = {
      list: before.then((list) => make(request, kept, list)),
      untilMs: Number.POSITIVE_INFINITY,
      usedAtMs: nowMs,
    }
    lists.set(key, kept)
    kept.list.catch(() => lists.delete(key))
    return kept.list
  }

  return {
    read(request) {
      const nowMs = rules.clock()
      for (const [key, { usedAtMs }] of lists) if (nowMs - usedAtMs > forgottenAfterMs) lists.delete(key)
      const key = rules.keyOf(request)
      const known = lists.get(key)
      if (!known || known.untilMs <= nowMs) return renew(key, request, known, nowMs)
      known.usedAtMs = nowMs
      return known.list
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
