import type { Queryable } from '#postgres/pool'

/** Postgres channels on which caches are told what they must forget. Payload: the key's id, or the device's id. */
export const accessChangedChannel = 'access_changed'
export const deviceChangedChannel = 'device_changed'

type Channel = typeof accessChangedChannel | typeof deviceChangedChannel

/** Tells every listening process; delivered when the transaction commits, and not at all when it rolls back. */
export async function notifyChanged(connection: Queryable, channel: Channel, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await connection.query('SELECT pg_notify($1, id) FROM unnest($2::text[]) AS id', [channel, ids])
}
