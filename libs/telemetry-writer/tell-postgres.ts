import type { Plans } from '#fleet/organizations/plans'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'
import { createDwellAnnouncer } from './reports/dwell-announcer.ts'
import { createDeviceMoments, type DeviceMoments } from './states/device-moments.ts'
import type { ToldByRows } from './states/device-reports.ts'
import { createPresence, type Presence } from './states/presence.ts'

/** Writes to Postgres what reports and their stored rows change: the state of devices, dwells and good moments. */
export type PostgresTeller = Pick<Presence, 'seen'> &
  Pick<DeviceMoments, 'refresh' | 'isAwaited'> & {
    add(told: ToldByRows): void
    /** Writes all changes since the last flush. Keeps those that cannot be written, and then returns false. */
    flush(): Promise<boolean>
  }

/** `poolOf`: the connections for one kind of change. `onAwaited`: see `createDeviceMoments`. */
export function createPostgresTeller(parts: {
  poolOf: (kind: 'presence' | 'dwells' | 'moments') => Pool
  plans: Plans
  logger: Logger
  onAwaited?: (organizations: readonly string[]) => void
}): PostgresTeller {
  const { poolOf, plans, logger, onAwaited } = parts
  const presence = createPresence({ pool: poolOf('presence'), logger })
  const dwells = createDwellAnnouncer({ pool: poolOf('dwells'), plans, logger })
  const moments = createDeviceMoments({ pool: poolOf('moments'), logger, onAwaited })
  return {
    seen: presence.seen,
    refresh: moments.refresh,
    isAwaited: moments.isAwaited,
    add(told) {
      presence.add(told.reports)
      dwells.add(told.dwells)
      moments.add(told.moments)
    },
    async flush() {
      const written = await Promise.all([presence.flush(), dwells.flush(), moments.flush()])
      return written.every((isWritten) => isWritten)
    },
  }
}
