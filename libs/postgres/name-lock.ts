import type { Connection } from '#postgres/pool'

/** Waits for the transactions that hold the lock with this name. Holds it until the transaction ends. */
export async function lockName(connection: Connection, name: string): Promise<void> {
  await connection.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
}
