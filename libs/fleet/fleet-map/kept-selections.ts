import type { MapWindow, Selection } from './selection.ts'

/** Selections of readers who come back while nothing changed: looking through a large fleet takes longer than its 304. */
export type KeptSelections = {
  /** The selection under this key, made anew when a map changed or something fell out of the window since. */
  keep(key: string, windows: readonly MapWindow[], nowMs: number, make: () => Selection): Selection
}

export function createKeptSelections(maxKept = 16): KeptSelections {
  const kept = new Map<string, { changes: string; selection: Selection }>()
  return {
    keep(key, windows, nowMs, make) {
      const changes = windows.map(({ map }) => `${map.organizationId} ${map.changedAt()}`).join()
      const known = kept.get(key)
      // What is used goes to the end, so that the first is the one to forget.
      kept.delete(key)
      const isValid = known && known.changes === changes && nowMs < known.selection.validUntilMs
      const selection = isValid ? known.selection : make()
      kept.set(key, { changes, selection })
      for (const oldest of kept.keys()) {
        if (kept.size <= maxKept) break
        kept.delete(oldest)
      }
      return selection
    },
  }
}
