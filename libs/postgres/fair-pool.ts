import { ServiceError } from '#core/errors'
import { createFairQueue } from '#core/fair-queue'
import type { Connection, Pool } from '#postgres/pool'

/**
 * A pool whose connections are shared fairly between owners. An owner holds at most a third of the connections, so that two
 * owners whose transactions wait for locks leave some for the others, and waiting owners take turns. While it holds a
 * connection, an owner must not wait for a second one: use the connection of the transaction, or `boundPool`.
 */
export type FairPool = {
  /**
   * The share of a caller: an organization or platform key, as rate limits count them. After 5 s, `connect` and `query`
   * reject with 429 `rate_limited` while others of the owner's requests hold its share, and as unavailable otherwise.
   */
  of(owner: string): Pool
  /** The share of a part of the process, or of a caller who is not known yet. Rejects as unavailable after 5 s. */
  internal(name: string): Pool
}

const maxWaitMs = 5_000
const maxWaitingPerOwner = 5_000
const retryAfterSeconds = 2
const internalPrefix = 'internal:'

/** Shares the connections of `pool`, whose limit is `maxConnections`. All users of `pool` should have a share. */
export function createFairPool(pool: Pool, maxConnections: number): FairPool {
  const turns = createFairQueue({
    maxRunning: maxConnections,
    maxRunningPerOwner: Math.max(1, Math.floor(maxConnections / 3)),
    maxWaitingPerOwner,
    maxWaitMs,
    refusal: (reason, { owner, isRunning }) =>
      isRunning && !owner.startsWith(internalPrefix) ? tooManyRequests(reason) : noConnection(),
  })
  const shareOf = (owner: string): Pool => {
    const connect = () =>
      new Promise<Connection>((resolve, reject) => {
        const hold = async () => {
          const connection = await pool.connect()
          await new Promise<void>((onReleased) => resolve(noteRelease(connection, onReleased)))
        }
        turns.run(owner, hold).catch(reject)
      })
    const query = (...parameters: Parameters<Pool['query']>) => turns.run(owner, async () => pool.query(...parameters))
    return { connect, query } as Pool
  }
  return { of: shareOf, internal: (name) => shareOf(`${internalPrefix}${name}`) }
}

/** The pool gives a connection a new `release` for each holder. */
function noteRelease(connection: Connection, onReleased: () => void): Connection {
  const { release } = connection
  connection.release = (error) => {
    release(error)
    onReleased()
  }
  return connection
}

const tooManyRequests = (reason: string) =>
  new ServiceError(429, 'rate_limited', `${reason} Retry in ${retryAfterSeconds} s.`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })

/** The words of the driver, which `isUnavailable` recognizes. */
const noConnection = () => new Error('timeout exceeded when trying to connect: all connections are in use')
