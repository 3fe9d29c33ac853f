import type { CleaningReport } from '#telemetry/report/clean'

export type CleanedCount = { kind: string; field: string; reason: string; count: number }

export type CleaningCounts = { count: CleaningReport; list(): CleanedCount[] }

/** Counts cleaned values by kind, field and reason. Cells use the field names of the field table. */
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
