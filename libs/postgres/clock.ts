import { type Clock, systemClock } from '#core/clock'
import { repeat } from '#core/schedule'
import type { Queryable } from '#postgres/pool'

/** A clock that agrees with those of all processes on the same database. */
export type DatabaseClock = {
  clock: Clock
  /** Resolves after the first measurement, also if it failed. */
  measured: Promise<void>
  stop(): Promise<void>
}

const measureEveryMs = 30_000
/** Smaller differences are ignored, so that processes on synchronized machines keep their own clocks. */
const toleratedMs = 1_000

/**
 * Returns a clock that follows Postgres: processes compare times that others have stored, and the clocks of their machines can
 * differ. It is the clock of this machine while both agree within a second, and keeps the last known difference while
 * Postgres is unavailable.
 */
export function followDatabaseClock(db: Queryable, own: Clock = systemClock): DatabaseClock {
  let differenceMs = 0
  const first = Promise.withResolvers<void>()

  async function measure(): Promise<void> {
    const beforeMs = own()
    const { rows } = await db.query<{ now_ms: number }>(
      'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms',
    )
    const afterMs = own()
    const nowMs = rows[0]?.now_ms
    // After a slow answer, the difference is not known well enough.
    if (nowMs === undefined || afterMs - beforeMs > toleratedMs) return
    const foundMs = nowMs - (beforeMs + afterMs) / 2
    differenceMs = Math.abs(foundMs) > toleratedMs ? Math.round(foundMs) : 0
  }

  const measuring = repeat(
    measureEveryMs,
    () => measure().finally(first.resolve),
    () => {},
  )
  return { clock: () => own() + differenceMs, measured: first.promise, stop: measuring.stop }
}
