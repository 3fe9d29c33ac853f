import type { Queryable } from '#postgres/pool'

/**
 * Postgres channels that invalidate caches. Database triggers send the notices, so that no writer can omit them:
 * `access_changed` with the id of an API key, `device_changed` with the device or token whose authorization changed.
 */
export const accessChangedChannel = 'access_changed'
export const deviceChangedChannel = 'device_changed'

/** Sends a notice without a change, to prove that notices arrive. */
export async function sendNotice(db: Queryable, channel: string, payload: string): Promise<void> {
  await db.query('SELECT pg_notify($1, $2)', [channel, payload])
}
