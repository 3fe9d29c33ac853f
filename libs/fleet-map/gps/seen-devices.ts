import { LRUCache } from 'lru-cache'

/** Caches which devices a response contained, so that the next delta can list those that left. */
export type SeenDevices = {
  remember(query: string, asOf: string, deviceIds: ReadonlySet<string>): void
  recall(query: string, asOf: string): ReadonlySet<string> | undefined
  /** Estimated bytes of the cached ids. */
  keptBytes(): number
}

const answerBytes = 500
// The ids themselves are the registry's strings; each set holds references to them.
const idBytes = 40

/** Keeps the most recently used responses. */
export function createSeenDevices(maxBytes: number): SeenDevices {
  const kept = new LRUCache<string, ReadonlySet<string>>({
    maxSize: maxBytes,
    sizeCalculation: (deviceIds, key) => answerBytes + 2 * key.length + deviceIds.size * idBytes,
  })
  const keyOf = (query: string, asOf: string) => `${asOf} ${query}`
  return {
    remember(query, asOf, deviceIds) {
      const key = keyOf(query, asOf)
      if (!kept.has(key)) kept.set(key, deviceIds)
    },
    recall: (query, asOf) => kept.get(keyOf(query, asOf)),
    keptBytes: () => kept.calculatedSize,
  }
}
