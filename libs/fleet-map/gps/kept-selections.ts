import { LRUCache } from 'lru-cache'
import type { MapWindow, Selection } from '#fleet-map/gps/selection'

/** Selections of readers who come back while nothing changed: looking through a large fleet takes longer than its 304. */
export type KeptSelections = {
  /** The selection under this key, made anew when a map changed or something fell out of the window since. */
  keep(key: string, windows: readonly MapWindow[], nowMs: number, make: () => Selection): Selection
  /** Bytes of the selections kept, as estimated. */
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
  return {
    keep(key, windows, nowMs, make) {
      const changes = windows.map(({ map }) => `${map.organizationId} ${map.changedAt()}`).join()
      const known = kept.get(key)
      if (known && known.changes === changes && nowMs < known.selection.validUntilMs) return known.selection
      const selection = make()
      kept.set(key, { changes, selection })
      return selection
    },
    keptBytes: () => kept.calculatedSize,
  }
}
