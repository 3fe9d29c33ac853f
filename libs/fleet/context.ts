import type { Clock } from '#core/clock'
import type { Principal } from '#fleet/access/principal'
import type { Plans } from '#fleet/organizations/plans'
import type { Pool } from '#postgres/pool'

/** What every domain verb is given first: who asks, where the truth is, what plans allow, what time it is, which request. */
export type FleetContext = {
  pool: Pool
  principal: Principal
  plans: Plans
  clock: Clock
  requestId: string
}
