import type { Queryable } from '#postgres/pool'

export type OpenJobs = {
  /** How many jobs wait for the device or run on it, as known a moment ago. */
  countFor(deviceId: string): number
  /** Reads the counts of all devices again. */
  refresh(): Promise<void>
}

/**
 * Open jobs by device, held in memory for the answers to reports. One index-only scan finds them all, so a device that
 * reports once a minute learns of a job as soon as one that reports every second.
 */
export function createOpenJobs(db: Queryable): OpenJobs {
  let counts = new Map<string, number>()
  return {
    countFor: (deviceId) => counts.get(deviceId) ?? 0,
    async refresh() {
      const { rows } = await db.query<{ device_id: string; open: number }>(
        `SELECT device_id, count(*)::int AS open FROM job
          WHERE status IN ('queued', 'dispatched', 'inProgress') AND (not_before IS NULL OR not_before <= now())
          GROUP BY device_id`,
      )
      counts = new Map(rows.map((row) => [row.device_id, row.open]))
    },
  }
}
