import type { Clock } from '#core/clock'
import type { Principal } from '#fleet/principal'
import type { Pool } from '#postgres/pool'

/** What every domain verb is given first: who asks, where the truth is, what time it is, and which request this is. */
export type FleetContext = {
  pool: Pool
  principal: Principal
  clock: Clock
  requestId: string
}
