import { createPostgresBackend, createRedisBackend, type JobsOptions, type JobType, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { connectionOptions } from '#postgres/connection'
import type { QueueName } from '#queue/references'

type Processor = (data: unknown) => Promise<void>
type WorkerSettings = { concurrency: number }

/** The part of a BullMQ queue that we use. The full types differ by backend. */
type BackendQueue = {
  addBulk(jobs: { name: string; data: unknown; opts: JobsOptions }[]): Promise<unknown>
  getJobCounts(...states: JobType[]): Promise<Record<string, number>>
  close(): Promise<void>
}

/** The part of a BullMQ worker that we use. */
export type BackendWorker = { close(force?: boolean): Promise<void> }

export type QueueBackend = {
  name: 'redis' | 'postgres'
  openQueue(name: QueueName): Promise<BackendQueue>
  openWorker(name: QueueName, process: Processor, settings: WorkerSettings): Promise<BackendWorker>
  /** True when the store of the queues lost its data since `mark`, so that all jobs must be offered again. */
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

const connectionsPerQueue = 4

function postgresBackend(url: string, onError: (error: Error) => void): QueueBackend {
  const connection = {
    // BullMQ has its own type of the options of node-postgres.
    ...(connectionOptions(url) as Record<string, unknown>),
    migrate: true,
    max: connectionsPerQueue,
    application_name: 'queue',
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
  }
  return {
    name: 'postgres',
    openQueue: (name) => whenReady(reportErrors(new Queue(name, { connection }, createPostgresBackend), onError)),
    openWorker: async (name, process, settings) => {
      const options = { ...settings, ...recoveryTimes, connection, autorun: false }
      const worker = reportErrors(new Worker(name, (job) => process(job.data), options, createPostgresBackend), onError)
      await whenReady(worker)
      worker.run().catch(onError)
      return worker
    },
    // The queues are in the same database as the jobs, so they cannot be lost separately.
    wasEmptied: async () => false,
    mark: async () => {},
    close: async () => {},
  }
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

const maxReconnectMs = 2_000
const markerKey = 'routerfleet:queues-filled'

function redisBackend(url: string, onError: (error: Error) => void): QueueBackend {
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, maxReconnectMs)
  // The producer fails at once while Redis is unavailable. The jobs stay in Postgres and are offered again.
  const producer = new Redis(url, { retryStrategy, enableOfflineQueue: false, maxRetriesPerRequest: 1 })
  const consumer = new Redis(url, { retryStrategy, maxRetriesPerRequest: null })
  for (const client of [producer, consumer]) client.on('error', onError)
  // The braces keep all keys of one queue in one slot of a Redis Cluster.
  const prefixOf = (name: QueueName) => `{routerfleet-${name}}`
  return {
    name: 'redis',
    openQueue: async (name) =>
      reportErrors(new Queue(name, { connection: producer, prefix: prefixOf(name) }, createRedisBackend), onError),
    openWorker: async (name, process, settings) =>
      reportErrors(
        new Worker(
          name,
          (job) => process(job.data),
          { ...settings, ...recoveryTimes, connection: consumer, prefix: prefixOf(name) },
          createRedisBackend,
        ),
        onError,
      ),
    wasEmptied: async () => (await producer.exists(markerKey)) === 0,
    mark: async () => {
      await producer.set(markerKey, new Date().toISOString())
    },
    close: async () => {
      for (const client of [producer, consumer]) client.disconnect()
    },
  }
}

/** When a worker polls again after an error, and when another one takes over the entries of a dead worker. In ms. */
const recoveryTimes = { runRetryDelay: 1_000, stalledInterval: 5_000, lockDuration: 10_000, maxStalledCount: 100 }

type Emitter = { on(event: 'error', listener: (error: Error) => void): unknown }

function reportErrors<Source extends Emitter>(emitter: Source, onError: (error: Error) => void): Source {
  emitter.on('error', onError)
  return emitter
}
