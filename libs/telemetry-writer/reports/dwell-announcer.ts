import { publishDwells, type ReportedDwell } from '#fleet/devices/reported/dwell-events'
import type { Plans } from '#fleet/organizations/plans'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'

export type DwellAnnouncer = {
  /** Adds stored dwells, in the order in which they were written. */
  add(written: readonly ReportedDwell[]): void
  /** Announces all dwells since the last flush. Keeps those that cannot be written, and then returns false. */
  flush(): Promise<boolean>
}

/** During a long outage of Postgres, the oldest are dropped. A later end is then announced with its start. */
const maxWaiting = 100_000
const announcedAtOnce = 5_000

/** Publishes dwells as events in Postgres. */
export function createDwellAnnouncer({
  pool,
  plans,
  logger,
}: {
  pool: Pool
  plans: Plans
  logger: Logger
}): DwellAnnouncer {
  let waiting: ReportedDwell[] = []
  return {
    add(written) {
      waiting = waiting.concat(written).slice(-maxWaiting)
    },
    async flush() {
      const taken = waiting
      waiting = []
      let announced = 0
      try {
        for (; announced < taken.length; announced += announcedAtOnce) {
          await publishDwells({ pool, plans }, taken.slice(announced, announced + announcedAtOnce))
        }
        return true
      } catch (error) {
        waiting = taken.slice(announced).concat(waiting).slice(-maxWaiting)
        logger.warn(
          { dwells: waiting.length, error: error instanceof Error ? error.name : 'unknown' },
          'dwells_delayed',
        )
        return false
      }
    },
  }
}
