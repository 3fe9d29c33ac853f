import { Cluster, Redis } from 'ioredis'
import { clusterAddress } from '#redis/address'

export type RedisClient = Redis | Cluster

export type RedisClientOptions = {
  /**
   * Commands reject at once while Redis is unavailable, and soon while a node of a cluster is. Otherwise they wait until it
   * responds; those of a cluster, for a few seconds.
   */
  rejects: boolean
  /** Commands without a response reject after this time. */
  commandTimeoutMs?: number
}

const maxReconnectMs = 2_000
/**
 * A connection that is not established or has no response within this time is replaced, because a machine that disappears does
 * not close it. Workers wait up to 10 s for the response to a blocking command.
 */
const silenceMs = { whileRejecting: 5_000, whileWaiting: 15_000 }
/** How often a client of a cluster asks for the present primaries. It also asks when one does not respond. */
const refreshMs = 5_000
/** Without the primaries after this time, the client disconnects and starts again. A busy node needs more than the default of 1 s. */
const refreshTimeoutMs = 5_000
/** How often a command is sent again while the primary of its slot is replaced, and the pause between. */
const failoverRetries = { whileRejecting: 3, whileWaiting: 50, pauseMs: 100 }

/** Opens a client of one Redis or of a Redis Cluster. It reconnects by itself and follows the primaries of a cluster. */
export function openRedisClient(url: string, { rejects, commandTimeoutMs }: RedisClientOptions): RedisClient {
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, maxReconnectMs)
  const longestSilenceMs = rejects ? silenceMs.whileRejecting : silenceMs.whileWaiting
  const shared = {
    maxRetriesPerRequest: rejects ? 1 : null,
    connectTimeout: longestSilenceMs,
    socketTimeout: longestSilenceMs,
    ...(commandTimeoutMs !== undefined && { commandTimeout: commandTimeoutMs }),
  }
  const cluster = clusterAddress(url)
  if (!cluster) return new Redis(url, { ...shared, retryStrategy, enableOfflineQueue: !rejects })
  const { nodes, username, password, tls } = cluster
  return new Cluster(nodes, {
    clusterRetryStrategy: retryStrategy,
    // With the check, `connect` never settles if the cluster lacks a primary at that moment: a worker would wait for it forever.
    // Without it, the commands of that time reject or are sent again.
    enableReadyCheck: false,
    enableOfflineQueue: !rejects,
    slotsRefreshInterval: refreshMs,
    slotsRefreshTimeout: refreshTimeoutMs,
    maxRedirections: rejects ? failoverRetries.whileRejecting : failoverRetries.whileWaiting,
    retryDelayOnFailover: failoverRetries.pauseMs,
    retryDelayOnClusterDown: failoverRetries.pauseMs,
    // The names of the certificates are those of the nodes, not their addresses.
    ...(tls && { dnsLookup: (host, done) => done(null, host) }),
    redisOptions: {
      ...shared,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(tls && { tls: {} }),
    },
  })
}
