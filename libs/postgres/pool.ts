import pg from 'pg'
import { connectionOptions } from '#postgres/connection'

export type Connection = pg.PoolClient
/** Anything a query can be sent to: the pool, or the connection of an open transaction. */
export type Queryable = Pick<pg.Pool, 'query'>
/** The pool as domain verbs use it. */
export type Pool = Pick<pg.Pool, 'query' | 'connect'>
/** The pool as its owner uses it; `end()` closes it. */
export type OwnedPool = pg.Pool

/**
 * A pool of connections to Postgres. `applicationName` appears in pg_stat_activity. A statement may wait for a lock for at most
 * 10 s and run for 30 s, and a transaction may pause for 60 s. `url` can have several hosts, of which new connections use the primary. `keepOpen`: so many connections stay open once opened,
 * and are opened before they are needed. `schema`: where unqualified names of statements are.
 */
export function openPool(
  url: string,
  options: { applicationName: string; maxConnections?: number; keepOpen?: number; schema?: string },
): OwnedPool {
  const { applicationName, maxConnections = 10, keepOpen = 0, schema } = options
  const pool = new pg.Pool({
    ...connectionOptions(url),
    application_name: applicationName,
    ...(schema !== undefined && { options: `-c search_path=${schema}` }),
    max: maxConnections,
    min: keepOpen,
    connectionTimeoutMillis: 5_000,
    // Ends the wait for a server that disappeared without closing the connection.
    query_timeout: 35_000,
    idleTimeoutMillis: 30_000,
  })
  // Without these listeners, a lost connection ends the process. The pool replaces an idle one at the next query.
  pool.on('error', () => {})
  // When a connection is lost between two statements of a transaction, the next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}))
  openAhead(pool, Math.min(keepOpen, maxConnections))
  return pool
}

/**
 * Opens the next connection, up to `count`, whenever the last idle one is taken. A new connection takes half a second on a
 * busy machine, and the pool lets the request that finds none idle wait for it, even if another is released earlier.
 */
function openAhead(pool: OwnedPool, count: number): void {
  let isOpening = false
  const openNext = async () => {
    if (isOpening || pool.ending || pool.totalCount >= count || pool.idleCount > 0) return
    isOpening = true
    await pool.connect().then(
      (connection) => connection.release(),
      () => {},
    )
    isOpening = false
  }
  pool.on('acquire', openNext)
}

const boundConnections = new WeakSet<Connection>()

export type TransactionOptions = {
  /** Statements sent together with BEGIN, in the same round trip. Plain SQL that must not contain any input of a caller. */
  prelude?: string
}

/**
 * Runs `work` in a transaction. Commits when it resolves; rolls back and rethrows when it rejects. On a pool created by
 * `boundPool` it uses a savepoint of the open transaction.
 */
export async function transaction<Result>(
  pool: Pool,
  work: (connection: Connection) => Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  const connection = await pool.connect()
  const commands = boundConnections.has(connection)
    ? { begin: 'SAVEPOINT inner_work', commit: 'RELEASE inner_work; RESET ROLE', rollback: 'ROLLBACK TO inner_work' }
    : { begin: 'BEGIN', commit: 'COMMIT', rollback: 'ROLLBACK' }
  let broken: Error | undefined
  try {
    await connection.query(options.prelude ? `${commands.begin}; ${options.prelude}` : commands.begin)
    const result = await work(connection)
    await connection.query(commands.commit)
    return result
  } catch (error) {
    await connection.query(commands.rollback).catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    connection.release(broken)
  }
}

const deadlockDetected = '40P01'
const maxAttempts = 5

/** Runs a transaction, and again after a deadlock, up to five times. The rollback must undo all effects of `work`. */
export async function retryOnDeadlock<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const deadlock = error instanceof Error && 'code' in error && error.code === deadlockDetected
      if (!deadlock || attempt === maxAttempts) throw error
    }
  }
}

/**
 * A pool that always returns this connection with its open transaction. Verbs that open transactions themselves can so take
 * part in a larger one. The owner of the connection commits and releases it.
 */
export function boundPool(connection: Connection): Pool {
  const inner = { query: connection.query.bind(connection), release: () => {} } as unknown as Connection
  boundConnections.add(inner)
  return { query: connection.query.bind(connection), connect: async () => inner } as Pool
}

/** Runs `work` and undoes what it changed, for a dry run. Its locks stay until the end of the transaction. */
export async function undone<Result>(connection: Connection, work: () => Promise<Result>): Promise<Result> {
  await connection.query('SAVEPOINT dry_run')
  const result = await work()
  await connection.query('ROLLBACK TO SAVEPOINT dry_run')
  return result
}
