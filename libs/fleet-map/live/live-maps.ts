import type { Clock } from '#core/clock'
import { createLiveMap, type LiveMap } from '#fleet-map/live/live-map'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import type { Revisions } from '#fleet-map/revisions'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader, Readers } from '#questdb/copies/readers'

/** Live maps of organizations, shared by all concurrent readers. */
export type LiveMaps = {
  /**
   * The organization's map with data since `fromMs`, as `LiveMap.read` returns it. It is read on the share of the reader's
   * owner, also by later refreshes.
   */
  read(organizationId: string, fromMs: number, reader: Reader): Promise<OrganizationMap>
  /** Stops refreshing. Running queries end by themselves. */
  close(): void
}

type Sources = { pools: FairPool; readers: Readers; clock: Clock; revisions: Revisions }

/** A map with its last reader, whose share is used for refreshes, and the timer of the next refresh. */
type FollowedMap = { live: LiveMap; owner: string; usedAtMs: number; timer: NodeJS.Timeout | undefined }

const firstPauseMs = 500
const followedForMs = 15_000
const forgottenAfterMs = 15 * 60_000

/** Keeps the maps that are read, refreshes them for a while after each read, and discards unused maps. */
export function createLiveMaps(sources: Sources): LiveMaps {
  const { clock, readers } = sources
  const maps = new Map<string, FollowedMap>()
  let isClosed = false

  const mapOf = (organizationId: string, owner: string): FollowedMap => {
    const nowMs = clock()
    for (const [id, { usedAtMs }] of maps) if (nowMs - usedAtMs > forgottenAfterMs) maps.delete(id)
    const known = maps.get(organizationId)
    if (known) return Object.assign(known, { owner, usedAtMs: nowMs })
    const created = { live: createLiveMap(organizationId, sources), owner, usedAtMs: nowMs, timer: undefined }
    maps.set(organizationId, created)
    return created
  }

  const follow = (followed: FollowedMap, delayMs: number): void => {
    if (followed.timer || isClosed) return
    followed.timer = setTimeout(async () => {
      const { live, owner, usedAtMs } = followed
      const isFollowed = clock() - usedAtMs <= followedForMs
      // Readers get the error of their own refresh. Here, the next refresh retries.
      if (isFollowed) await live.refresh(readers.of(owner)).catch(() => {})
      followed.timer = undefined
      if (isFollowed) follow(followed, live.pauseMs())
    }, delayMs).unref()
  }

  return {
    async read(organizationId, fromMs, reader) {
      const followed = mapOf(organizationId, reader.owner)
      const map = await followed.live.read(reader.detached(), fromMs)
      follow(followed, firstPauseMs)
      return map
    },
    close() {
      isClosed = true
      for (const { timer } of maps.values()) clearTimeout(timer)
    },
  }
}
