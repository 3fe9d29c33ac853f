import { countJobsInMailboxes } from '#fleet/jobs/delivery'
import type { Queryable } from '#postgres/pool'

export type OpenJobs = {
  /** Returns the number of open jobs of the device at the last refresh. */
  countFor(deviceId: string): number
  /** Reloads the counts of all devices. */
  refresh(): Promise<void>
}

/**
 * Caches the number of open jobs per device for the responses to reports, so that a report needs no query.
 */
export function createOpenJobs(db: Queryable): OpenJobs {
  let counts = new Map<string, number>()
  return {
    countFor: (deviceId) => counts.get(deviceId) ?? 0,
    async refresh() {
      counts = await countJobsInMailboxes(db)
    },
  }
}
