import type { Clock } from '#core/clock'
import type { Pool } from '#postgres/pool'

/** What routes reach beyond their own domain verb. Built once in main.ts, passed as a value. */
export type Services = {
  pool: Pool
  clock: Clock
}
