import { LRUCache } from 'lru-cache'
import type { MapWindow, Selection } from '#fleet-map/gps/selection'

/** Caches selections while the maps do not change. For a large fleet, selecting takes longer than a 304 response. */
export type KeptSelections = {
  /** The selection of this key. It is made again if a map has changed or data has left the window. */
  keep(key: string, windows: readonly MapWindow[], nowMs: number, make: () => Selection): Selection
  /** Whether the selection of this key is cached and still valid. */
  has(key: string, windows: readonly MapWindow[], nowMs: number): boolean
  /** Estimated bytes of the cached selections. */
  keptBytes(): number
}

type Kept = { changes: string; selection: Selection }

const forgottenAfterMs = 5 * 60_000
const selectionBytes = 1_000
const shownDeviceBytes = 100
const idBytes = 60

export function createKeptSelections(maxBytes: number): KeptSelections {
  const kept = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    sizeCalculation: ({ changes, selection }, key) =>
      selectionBytes +
      2 * (key.length + changes.length) +
      selection.devices.length * shownDeviceBytes +
      (selection.matchingIds?.size ?? 0) * idBytes,
    ttl: forgottenAfterMs,
  })
  const changesOf = (windows: readonly MapWindow[]): string =>
    windows.map(({ map }) => `${map.organizationId} ${map.changedAt()}`).join()
  const validOf = (key: string, changes: string, nowMs: number): Selection | undefined => {
    const known = kept.get(key)
    return known && known.changes === changes && nowMs < known.selection.validUntilMs ? known.selection : undefined
  }
  return {
    keep(key, windows, nowMs, make) {
      const changes = changesOf(windows)
      const known = validOf(key, changes, nowMs)
      if (known) return known
      const selection = make()
      kept.set(key, { changes, selection })
      return selection
    },
    has: (key, windows, nowMs) => validOf(key, changesOf(windows), nowMs) !== undefined,
    keptBytes: () => kept.calculatedSize,
  }
}
