import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import type { GroupMembers } from '#fleet-map/group-members'

/** The members of groups, looked up once for the tiles of a view. */
export type SharedMembers = {
  /** The members under this key, at most a few seconds old. Errors of `look` are not kept. */
  read(key: string, look: () => Promise<GroupMembers>): Promise<GroupMembers>
}

type Kept = { members: Promise<GroupMembers>; untilMs: number }

const shortestLifeMs = 2_000
// Looking up the members uses at most a twentieth of the time.
const lifePerCost = 20
const maxGroups = 50

export function createSharedMembers(clock: Clock): SharedMembers {
  const kept = new LRUCache<string, Kept>({ max: maxGroups })
  return {
    read(key, look) {
      const startedMs = clock()
      const known = kept.get(key)
      if (known && startedMs < known.untilMs) return known.members
      const looked: Kept = { members: look(), untilMs: Number.POSITIVE_INFINITY }
      kept.set(key, looked)
      looked.members.then(
        () => {
          const endedMs = clock()
          looked.untilMs = endedMs + Math.max(shortestLifeMs, (endedMs - startedMs) * lifePerCost)
        },
        () => {
          if (kept.peek(key) === looked) kept.delete(key)
        },
      )
      return looked.members
    },
  }
}
