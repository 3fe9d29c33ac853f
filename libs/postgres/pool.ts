import pg from 'pg'

export type Pool = pg.Pool
export type Connection = pg.PoolClient
/** Anything a query can be sent to: the pool, or the connection of an open transaction. */
export type Queryable = Pick<pg.Pool, 'query'>

/** A pool on the truth database. `applicationName` shows in pg_stat_activity; a statement may run 30 s at most. */
export function openPool(url: string, options: { applicationName: string; maxConnections?: number }): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    idleTimeoutMillis: 30_000,
  })
  // An idle connection lost to a database restart is replaced at the next query; without a listener it ends the process.
  pool.on('error', () => {})
  return pool
}

/** Runs `work` in one transaction: commits when it returns, rolls back when it throws, and rethrows. */
export async function transaction<Result>(
  pool: Pool,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.connect()
  let broken: Error | undefined
  try {
    await connection.query('BEGIN')
    const result = await work(connection)
    await connection.query('COMMIT')
    return result
  } catch (error) {
    await connection.query('ROLLBACK').catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    connection.release(broken)
  }
}
