import { deleteUnpinnedVersions } from '#fleet/config-profiles/kept-versions'
import type { SystemContext } from '#fleet/context'
import { type Pool, transaction } from '#postgres/pool'

/**
 * Deletes idempotency records after 24 h, expired device tokens, sign-in links and sessions, and versions of deleted
 * profiles that no batch pins any more. Returns how many rows.
 */
export async function deleteExpired({ pool, clock }: Pick<SystemContext, 'pool' | 'clock'>): Promise<number> {
  const records = await pool.query("DELETE FROM idempotency_record WHERE created_at < now() - interval '24 hours'")
  const tokens = await pool.query("DELETE FROM device_token WHERE expires_at < now() - interval '1 hour'")
  const links = await pool.query('DELETE FROM sign_in_link WHERE expires_at < now()')
  const sessions = await pool.query('DELETE FROM sign_in_session WHERE expires_at < now()')
  const versions = await deleteVersions(pool, clock())
  return [records, tokens, links, sessions].reduce((sum, { rowCount }) => sum + (rowCount ?? 0), versions)
}

async function deleteVersions(pool: Pool, nowMs: number): Promise<number> {
  for (let deleted = 0; ; ) {
    const count = await transaction(pool, (connection) => deleteUnpinnedVersions(connection, { nowMs }))
    if (count === 0) return deleted
    deleted += count
  }
}
