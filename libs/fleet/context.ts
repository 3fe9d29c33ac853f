import type { Clock } from '#core/clock'
import type { Traceparent, Tracing } from '#core/tracing'
import type { Principal } from '#fleet/access/principal'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Plans } from '#fleet/organizations/plans'
import type { Pool } from '#postgres/pool'

/** First argument of a verb that a caller requests: the caller, its request id and the resources of the app. */
export type FleetContext = {
  pool: Pool
  principal: Principal
  plans: Plans
  keyring: Keyring
  clock: Clock
  requestId: string
  /** The span of the request, if tracing is on. */
  traceparent?: Traceparent | undefined
}

/** First argument of a verb that the worker or the device edge runs for all organizations. */
export type SystemContext = { pool: Pool; clock: Clock; tracing?: Tracing | undefined }
