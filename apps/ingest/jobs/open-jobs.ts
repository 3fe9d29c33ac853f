import { countJobsInMailboxes } from '#fleet/jobs/delivery'
import type { Queryable } from '#postgres/pool'

export type OpenJobs = {
  /** How many jobs wait in the device's mailbox, as known a moment ago. */
  countFor(deviceId: string): number
  /** Reads the counts of all devices again. */
  refresh(): Promise<void>
}

/**
 * The jobs that wait for each device, held in memory for the answers to reports: a device that reports once a minute
 * learns of a job as soon as one that reports every second, and no report asks the database.
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
