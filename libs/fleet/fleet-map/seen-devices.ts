/** Remembers which devices an answer showed, so that the next one can say who left. */
export type SeenDevices = {
  remember(query: string, asOf: string, deviceIds: ReadonlySet<string>): void
  recall(query: string, asOf: string): ReadonlySet<string> | undefined
}

/** Keeps the newest answers, up to so many device ids in all. */
export function createSeenDevices(maxIds = 2_000_000): SeenDevices {
  const kept = new Map<string, ReadonlySet<string>>()
  let ids = 0
  return {
    remember(query, asOf, deviceIds) {
      const key = `${asOf} ${query}`
      if (kept.has(key)) return
      kept.set(key, deviceIds)
      ids += deviceIds.size
      for (const [oldest, set] of kept) {
        if (ids <= maxIds) break
        kept.delete(oldest)
        ids -= set.size
      }
    },
    recall: (query, asOf) => kept.get(`${asOf} ${query}`),
  }
}
