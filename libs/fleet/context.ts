import type { Clock } from '#core/clock'
import type { Principal } from '#fleet/access/principal'
import type { Plans } from '#fleet/organizations/plans'
import type { Pool } from '#postgres/pool'

/** First argument of a verb that a caller requests: the caller, the database, the plans, the clock and the request id. */
export type FleetContext = {
  pool: Pool
  principal: Principal
  plans: Plans
  clock: Clock
  requestId: string
}

/** First argument of a verb that the worker or the device edge runs for all organizations. */
export type SystemContext = { pool: Pool; clock: Clock }
