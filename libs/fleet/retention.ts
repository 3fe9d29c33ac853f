import type { SystemContext } from '#fleet/context'

/** Deletes idempotency records after 24 h and expired device tokens. Returns how many rows. */
export async function deleteExpired({ pool }: Pick<SystemContext, 'pool'>): Promise<number> {
  const records = await pool.query("DELETE FROM idempotency_record WHERE created_at < now() - interval '24 hours'")
  const tokens = await pool.query("DELETE FROM device_token WHERE expires_at < now() - interval '1 hour'")
  return (records.rowCount ?? 0) + (tokens.rowCount ?? 0)
}
