import { LRUCache } from 'lru-cache'
import { createDeviceIndex, type DeviceIndex, type FillTurn } from '#fleet-map/tiles/device-index'
import type { IndexedMap, IndexFilter } from '#fleet-map/tiles/placed-devices'

/** Keeps the indexes of the filters that callers read, shared by all callers with the same filter. */
export type DeviceIndexes = {
  /** The index of these maps and this filter; `untilMs` is the end of a range in the past. `fillTurn` is used if it does not exist yet. */
  open(
    maps: readonly IndexedMap[],
    filter: IndexFilter & { groupId?: string | undefined; untilMs?: number | undefined },
    fillTurn?: FillTurn,
  ): DeviceIndex
  /** Estimated bytes of all indexes. */
  keptBytes(): number
}

const forgottenAfterMs = 5 * 60_000
const maxIndexes = 100

/** Closes the least recently used indexes while all of them take more than `maxBytes`, but never the last one. */
export function createDeviceIndexes(maxBytes: number): DeviceIndexes {
  const kept = new LRUCache<string, DeviceIndex>({
    max: maxIndexes,
    ttl: forgottenAfterMs,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose: (index) => index.close(),
  })
  const keptBytes = (): number => [...kept.values()].reduce((sum, index) => sum + index.bytes(), 0)
  return {
    keptBytes,
    open(maps, { groupId, untilMs, members, ...filter }, fillTurn) {
      const windows = maps.map(({ map, windowMs }) => [map.organizationId, windowMs])
      const key = JSON.stringify([windows, untilMs ?? null, groupId, filter])
      const known = kept.get(key)
      // A map that was not read for a while is made anew.
      if (known?.maps.every(({ map }, index) => map === maps[index]?.map)) {
        if (members) known.setMembers(members)
        return known
      }
      const index = createDeviceIndex(maps, { ...filter, members }, fillTurn)
      kept.set(key, index)
      while (kept.size > 1 && keptBytes() > maxBytes) kept.pop()
      return index
    },
  }
}
