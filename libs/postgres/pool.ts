import pg from 'pg'

export type Connection = pg.PoolClient
/** Anything a query can be sent to: the pool, or the connection of an open transaction. */
export type Queryable = Pick<pg.Pool, 'query'>
/** Where domain verbs get their connections from. */
export type Pool = Pick<pg.Pool, 'query' | 'connect'>
/** A pool as its owner holds it; `end()` closes it. */
export type OwnedPool = pg.Pool

/** A pool on the truth database. `applicationName` shows in pg_stat_activity; a statement may run 30 s at most. */
export function openPool(url: string, options: { applicationName: string; maxConnections?: number }): OwnedPool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    // Where the server has gone without a word, nobody else ends the waiting.
    query_timeout: 35_000,
    idleTimeoutMillis: 30_000,
  })
  // An idle connection lost to a database restart is replaced at the next query; without a listener it ends the process.
  pool.on('error', () => {})
  // The same for one that is lost in the middle of a transaction, between two statements: the next one fails and says so.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

const bound = new WeakSet<Connection>()

export type TransactionOptions = {
  /** Statements sent together with BEGIN, in the same round trip. Plain SQL text: nothing a caller wrote may be in it. */
  prelude?: string
}

/**
 * Runs `work` in one transaction: commits when it returns, rolls back when it throws, and rethrows. On a pool made by
 * `boundPool` it is a savepoint of the transaction that is already open.
 */
export async function transaction<Result>(
  pool: Pool,
  work: (connection: Connection) => Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  const connection = await pool.connect()
  const words = bound.has(connection)
    ? { begin: 'SAVEPOINT inner_work', commit: 'RELEASE inner_work; RESET ROLE', rollback: 'ROLLBACK TO inner_work' }
    : { begin: 'BEGIN', commit: 'COMMIT', rollback: 'ROLLBACK' }
  let broken: Error | undefined
  try {
    await connection.query(options.prelude ? `${words.begin}; ${options.prelude}` : words.begin)
    const result = await work(connection)
    await connection.query(words.commit)
    return result
  } catch (error) {
    await connection.query(words.rollback).catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    connection.release(broken)
  }
}

const deadlockDetected = '40P01'
const attempts = 5

/** Runs a transaction again when it was the victim of a deadlock; whatever `work` does must be undone with it. */
export async function startingOver<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const deadlock = error instanceof Error && 'code' in error && error.code === deadlockDetected
      if (!deadlock || attempt === attempts) throw error
    }
  }
}

/**
 * A pool whose every connection is this one, inside its open transaction. Lets verbs that open transactions themselves
 * take part in a larger one; whoever opened the connection commits and releases it.
 */
export function boundPool(connection: Connection): Pool {
  const inner = { query: connection.query.bind(connection), release: () => {} } as unknown as Connection
  bound.add(inner)
  return { query: connection.query.bind(connection), connect: async () => inner } as Pool
}
