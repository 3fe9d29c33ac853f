import {
  createPostgresBackend,
  createRedisBackend,
  DEFAULT_SCHEMA,
  type JobsOptions,
  type JobType,
  type PgPool,
  Queue,
  runMigrations,
  Worker,
} from 'bullmq'
import { migrationLimits } from '#postgres/connection'
import { type OwnedPool, openPool } from '#postgres/pool'
import { waitForLocks } from '#postgres/wait-for-locks'
import { type QueueName, queueNames } from '#queue/references'
import { openRedisClient, type RedisClient } from '#redis/connect'

type Processor = (data: unknown) => Promise<void>
type WorkerSettings = { concurrency: number }

/** The part of a BullMQ queue that we use. The full types differ by backend. */
type BackendQueue = {
  addBulk(jobs: { name: string; data: unknown; opts: JobsOptions }[]): Promise<unknown>
  getJobCounts(...states: JobType[]): Promise<Record<string, number>>
  getDelayedCount(before: number): Promise<number>
  close(): Promise<void>
}

/** The part of a BullMQ worker that we use. */
export type BackendWorker = { close(force?: boolean): Promise<void> }

export type QueueBackend = {
  name: 'redis' | 'postgres'
  openQueue(name: QueueName): Promise<BackendQueue>
  /** Each worker has its own connections, so that one can replace another whose connections do not recover. */
  openWorker(name: QueueName, process: Processor, settings: WorkerSettings): Promise<BackendWorker>
  /** True when the store of a queue may have lost data since `mark`, so that all jobs must be offered again. */
  wasEmptied(): Promise<boolean>
  mark(): Promise<void>
  close(): Promise<void>
}

/**
 * BullMQ on Redis when `redisUrl` is given, otherwise on its Postgres backend (schema `bullmq` of the same database,
 * migrated on connect). `onError` receives connection errors; open queues and workers recover from them. On Postgres,
 * opening a queue or a worker rejects while the database is unavailable; on Redis it never rejects.
 */
export function openQueueBackend(
  urls: { postgresUrl: string; redisUrl?: string | undefined },
  onError: (error: Error) => void,
): QueueBackend {
  return urls.redisUrl === undefined ? postgresBackend(urls.postgresUrl, onError) : redisBackend(urls.redisUrl, onError)
}

/** For all queues, to add entries. */
const producerConnections = 4
/** For the worker of a queue: one that waits for entries, and others to take them. */
const workerConnections = 5

/**
 * The pools are ours: BullMQ would open one without a listener for the errors of connections in use, and a listener of the
 * connection that waits for entries only once it is open. A connection that is lost then would end the process.
 */
function postgresBackend(url: string, onError: (error: Error) => void): QueueBackend {
  const openQueuePool = (maxConnections: number) =>
    openPool(url, { applicationName: 'queue', maxConnections, schema: DEFAULT_SCHEMA })
  const producer = openQueuePool(producerConnections)
  let migrated: Promise<void> | undefined
  /** Applies the schema of BullMQ, once if it succeeds. */
  function migrate(): Promise<void> {
    migrated ??= applySchema(producer, onError).catch((error) => {
      migrated = undefined
      throw error
    })
    return migrated
  }
  return {
    name: 'postgres',
    async openQueue(name) {
      await migrate()
      return whenReady(
        reportErrors(new Queue(name, { connection: asPgPool(producer) }, createPostgresBackend), onError),
      )
    },
    async openWorker(name, process, settings) {
      await migrate()
      const pool = openQueuePool(workerConnections)
      const options = { ...settings, ...recoveryTimes, connection: asPgPool(pool), autorun: false }
      const worker = reportErrors(new Worker(name, (job) => process(job.data), options, createPostgresBackend), onError)
      const close = (force?: boolean) => worker.close(force).finally(() => endPool(pool))
      await whenReady({ waitUntilReady: () => worker.waitUntilReady(), close })
      worker.run().catch(onError)
      return { close }
    },
    // The queues are in the same database as the jobs, so they cannot be lost separately.
    wasEmptied: async () => false,
    mark: async () => {},
    close: () => endPool(producer),
  }
}

/** BullMQ has its own type of the parts of a pool that it uses. */
const asPgPool = (pool: OwnedPool): PgPool => pool as unknown as PgPool

/** Waits for a table that a backup or a long query reads, without stopping the queues of other workers. */
async function applySchema(pool: OwnedPool, onError: (error: Error) => void): Promise<void> {
  const apply = async () => {
    const connection = await pool.connect()
    try {
      await connection.query(`SET lock_timeout = ${migrationLimits.lock_timeout}`)
      await runMigrations(connection, DEFAULT_SCHEMA)
    } finally {
      // A transaction that failed with its connection cannot be continued.
      connection.release(true)
    }
  }
  await waitForLocks(apply, {
    onWait: (waitedMs) =>
      onError(new Error(`The schema of the queues has waited for ${Math.round(waitedMs / 1_000)} s for a lock.`)),
  })
}

async function endPool(pool: OwnedPool): Promise<void> {
  if (!pool.ending) await pool.end()
}

type Openable = { waitUntilReady(): Promise<unknown>; close(): Promise<void> }

/**
 * Resolves when the schema is ready. A queue or worker that failed to connect stays failed, and the worker would poll it
 * without pause. Therefore this closes it and rejects, and the caller opens a new one.
 */
async function whenReady<Part extends Openable>(part: Part): Promise<Part> {
  try {
    await part.waitUntilReady()
    return part
  } catch (error) {
    await part.close().catch(() => undefined)
    throw error
  }
}

/**
 * The history of the data: Redis chooses a new id when it starts without data, and when a replica becomes the primary, which
 * may lack the last writes.
 */
const historyId = "(string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or '')"
const isMarked = `return redis.call('GET', KEYS[1]) == ${historyId} and 1 or 0`
const setMark = `redis.call('SET', KEYS[1], ${historyId})`

function redisBackend(url: string, onError: (error: Error) => void): QueueBackend {
  // The producer fails at once while Redis is unavailable. The jobs stay in Postgres and are offered again.
  const producer = openRedisClient(url, { rejects: true })
  producer.on('error', onError)
  const consumers = new Set<RedisClient>()
  // The braces keep all keys of one queue, and its mark, in one slot of a Redis Cluster.
  const prefixOf = (name: QueueName) => `{routerfleet-${name}}`
  const onEachQueue = (script: string) =>
    Promise.all(queueNames.map((name) => producer.eval(script, 1, `${prefixOf(name)}:filled`)))
  return {
    name: 'redis',
    openQueue: async (name) =>
      reportErrors(
        new Queue(name, { connection: producer, prefix: prefixOf(name), ...noQuestions }, createRedisBackend),
        onError,
      ),
    async openWorker(name, process, settings) {
      const consumer = openRedisClient(url, { rejects: false })
      consumer.on('error', onError)
      consumers.add(consumer)
      const options = { ...settings, ...recoveryTimes, connection: consumer, prefix: prefixOf(name), autorun: false }
      const worker = reportErrors(new Worker(name, (job) => process(job.data), options, createRedisBackend), onError)
      // A worker asks Redis for its version once. Without an answer, it would poll without pause and never take an entry.
      const running = worker.waitUntilReady().then(() => worker.run())
      running.catch(onError)
      return {
        async close(force) {
          await worker.close(force).finally(() => consumer.disconnect())
          consumers.delete(consumer)
        },
      }
    },
    wasEmptied: async () => !isConnecting(producer) && (await onEachQueue(isMarked)).includes(0),
    mark: async () => void (await onEachQueue(setMark)),
    close: async () => {
      for (const client of [producer, ...consumers]) client.disconnect()
    },
  }
}

/** True while a connection is being made. Until then, nothing is known about the queues. */
const isConnecting = ({ status }: RedisClient): boolean => status === 'connecting' || status === 'connect'

/** A queue that asks for the version of Redis when it is unavailable never adds an entry again. */
const noQuestions = { skipVersionCheck: true }

/** When a worker polls again after an error, and when another one takes over the entries of a dead worker. In ms. */
const recoveryTimes = { runRetryDelay: 1_000, stalledInterval: 5_000, lockDuration: 10_000, maxStalledCount: 100 }

type Emitter = { on(event: 'error', listener: (error: Error) => void): unknown }

function reportErrors<Source extends Emitter>(emitter: Source, onError: (error: Error) => void): Source {
  emitter.on('error', onError)
  return emitter
}
