import { publishDwells, type WrittenDwell } from '#fleet/events/dwell-events'
import type { Plans } from '#fleet/organizations/plans'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'

export type DwellAnnouncer = {
  /** Stays that were stored, in the order in which they were written. */
  told(written: readonly WrittenDwell[]): void
  /** Announces what came since the last time; what cannot be written waits for the next. */
  flush(): Promise<void>
}

/** While Postgres is away for long the oldest go: an end that follows is announced with its start. */
const maxWaiting = 100_000
const announcedAtOnce = 5_000

/** Hands stays on to Postgres, where they become events. */
export function createDwellAnnouncer({
  pool,
  plans,
  logger,
}: {
  pool: Pool
  plans: Plans
  logger: Logger
}): DwellAnnouncer {
  let waiting: WrittenDwell[] = []
  return {
    told(written) {
      waiting = waiting.concat(written).slice(-maxWaiting)
    },
    async flush() {
      const taken = waiting
      waiting = []
      let announced = 0
      try {
        for (; announced < taken.length; announced += announcedAtOnce) {
          await publishDwells(pool, plans, taken.slice(announced, announced + announcedAtOnce))
        }
      } catch (error) {
        waiting = taken.slice(announced).concat(waiting).slice(-maxWaiting)
        logger.warn({ dwells: waiting.length, error: error instanceof Error ? error.name : 'unknown' }, 'dwells wait')
      }
    },
  }
}
