import type { Queryable } from '#postgres/pool'

/** Deletes what is past its time: answers kept for repeated requests after 24 h, and device tokens that expired. */
export async function deleteExpired(db: Queryable): Promise<number> {
  const answers = await db.query("DELETE FROM idempotency_record WHERE created_at < now() - interval '24 hours'")
  const tokens = await db.query("DELETE FROM device_token WHERE expires_at < now() - interval '1 hour'")
  return (answers.rowCount ?? 0) + (tokens.rowCount ?? 0)
}
