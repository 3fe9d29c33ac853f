import type { Queryable } from '#postgres/pool'

/**
 * The number of transactions in which a process does something else than a statement. Call this within a call to another
 * system, such as a queue: while that is slow, no transaction may stay open.
 */
export async function countOpenTransactions(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
  )
  return rows[0]?.count ?? -1
}
