import type { SystemContext } from '#fleet/context'

/** Deletes idempotency records after 24 h, and expired device tokens, sign-in links and sessions. Returns how many rows. */
export async function deleteExpired({ pool }: Pick<SystemContext, 'pool'>): Promise<number> {
  const records = await pool.query("DELETE FROM idempotency_record WHERE created_at < now() - interval '24 hours'")
  const tokens = await pool.query("DELETE FROM device_token WHERE expires_at < now() - interval '1 hour'")
  const links = await pool.query('DELETE FROM sign_in_link WHERE expires_at < now()')
  const sessions = await pool.query('DELETE FROM sign_in_session WHERE expires_at < now()')
  return [records, tokens, links, sessions].reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}
