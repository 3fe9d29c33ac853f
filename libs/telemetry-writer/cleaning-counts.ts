import type { CleaningReport } from '#telemetry/clean'

export type CleanedCount = { kind: string; field: string; reason: string; count: number }

export type CleaningCounts = { count: CleaningReport; list(): CleanedCount[] }

/** Counts what cleaning took away, by kind, field and reason; cells report under the bounded names of the field table. */
export function createCleaningCounts(): CleaningCounts {
  const counts = new Map<string, CleanedCount>()
  return {
    count(reason, kind, field) {
      const key = `${kind} ${field} ${reason}`
      const known = counts.get(key)
      if (known) known.count += 1
      else counts.set(key, { kind, field, reason, count: 1 })
    },
    list: () => [...counts.values()],
  }
}
