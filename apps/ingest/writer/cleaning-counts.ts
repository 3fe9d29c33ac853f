import type { CleaningReport } from '#telemetry/clean'
import type { WriterProgress } from './messages.ts'

export type CleaningCounts = { count: CleaningReport; list(): WriterProgress['cleaned'] }

/** Counts what cleaning took away, by kind, field and reason; cells report under the bounded names of the field table. */
export function createCleaningCounts(): CleaningCounts {
  const counts = new Map<string, WriterProgress['cleaned'][number]>()
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
