import type { Dwell } from '#telemetry/position/dwell'

/** What identifies one version of the row of an open dwell. */
export type WrittenDwell = { arrivedAtMs: number; lastInsideAtMs: number; gap: boolean }

/** An open dwell is written again when it has grown by this share of its duration, within limits. */
const growth = 0.1
const leastGrowthMs = 60_000
const mostGrowthMs = 10 * 60_000

export const versionOf = ({ arrivedAtMs, lastInsideAtMs, gap }: Dwell): WrittenDwell => ({
  arrivedAtMs,
  lastInsideAtMs,
  gap,
})

/** Returns whether the open dwell differs enough from what was written to write it again. */
export function isWorthWriting(written: WrittenDwell | undefined, open: Dwell): boolean {
  if (written?.arrivedAtMs !== open.arrivedAtMs || written.gap !== open.gap) return true
  const dueMs = Math.max(growth * (open.lastInsideAtMs - open.arrivedAtMs), leastGrowthMs)
  return open.lastInsideAtMs - written.lastInsideAtMs >= Math.min(dueMs, mostGrowthMs)
}
