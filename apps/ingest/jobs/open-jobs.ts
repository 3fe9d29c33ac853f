import { countJobsInMailboxes } from '#fleet/jobs/delivery'
import type { Queryable } from '#postgres/pool'

export type OpenJobs = {
  /** Returns the number of open jobs of the device at the last refresh; at least 1 if one was dispatched since. */
  countFor(deviceId: string): number
  /** Records that the database announced jobs for these devices. */
  note(deviceIds: readonly string[]): void
  /** Reloads the counts of all devices. Does nothing while earlier calls have taken more than their share of the time. */
  refresh(): Promise<void>
}

/** Of the time. With a million open jobs, a refresh takes seconds of this process and of Postgres. */
const refreshShare = 0.05
const longestPauseMs = 60_000

/**
 * Caches the number of open jobs per device for the responses to reports, so that a report needs no query. `monotonicMs` returns
 * the time of a monotonic clock in milliseconds.
 */
export function createOpenJobs(db: Queryable, monotonicMs = () => performance.now()): OpenJobs {
  let counts = new Map<string, number>()
  let noted = new Set<string>()
  /** The part of `noted` since the last refresh began. */
  let announcedSince = new Set<string>()
  let dueAtMs = Number.NEGATIVE_INFINITY
  return {
    countFor: (deviceId) => counts.get(deviceId) ?? (noted.has(deviceId) ? 1 : 0),
    note(deviceIds) {
      for (const deviceId of deviceIds) {
        noted.add(deviceId)
        announcedSince.add(deviceId)
      }
    },
    async refresh() {
      const startedMs = monotonicMs()
      if (startedMs < dueAtMs) return
      // The queries find what was announced before them.
      const since = new Set<string>()
      announcedSince = since
      try {
        counts = await countJobsInMailboxes(db)
        noted = since
      } finally {
        const endedMs = monotonicMs()
        dueAtMs = endedMs + Math.min((endedMs - startedMs) / refreshShare, longestPauseMs)
      }
    },
  }
}
