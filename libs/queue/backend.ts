import { createPostgresBackend, createRedisBackend, type JobsOptions, type JobType, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { QueueName } from '#queue/references'

type Processor = (data: unknown) => Promise<void>
type WorkerSettings = { concurrency: number }

/** What is used of a BullMQ queue and worker; their full types differ by backend. */
export type BackendQueue = {
  addBulk(jobs: { name: string; data: unknown; opts: JobsOptions }[]): Promise<unknown>
  getJobCounts(...states: JobType[]): Promise<Record<string, number>>
  close(): Promise<void>
}
export type BackendWorker = { close(force?: boolean): Promise<void> }

export type QueueBackend = {
  name: 'redis' | 'postgres'
  openQueue(name: QueueName): Promise<BackendQueue>
  openWorker(name: QueueName, process: Processor, settings: WorkerSettings): Promise<BackendWorker>
  /** True when the queues' store was emptied since `mark`, so that everything has to be offered again. */
  wasEmptied(): Promise<boolean>
  mark(): Promise<void>
  close(): Promise<void>
}

/**
 * BullMQ on Redis when there is a `redisUrl`, otherwise on its own Postgres backend (schema `bullmq` of the same database,
 * migrated on connect). `onError` hears of connection errors, which both backends get over by themselves once they are
 * open. On Postgres, opening a queue or a worker rejects while the database is away; on Redis it never does.
 */
export function openQueueBackend(
  urls: { postgresUrl: string; redisUrl?: string | undefined },
  onError: (error: Error) => void,
): QueueBackend {
  return urls.redisUrl === undefined ? postgresBackend(urls.postgresUrl, onError) : redisBackend(urls.redisUrl, onError)
}

const connectionsPerQueue = 4

function postgresBackend(connectionString: string, onError: (error: Error) => void): QueueBackend {
  const connection = {
    connectionString,
    migrate: true,
    max: connectionsPerQueue,
    application_name: 'queue',
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
  }
  return {
    name: 'postgres',
    openQueue: (name) => usable(heard(new Queue(name, { connection }, createPostgresBackend), onError)),
    openWorker: async (name, process, settings) => {
      const options = { ...settings, ...patience, connection, autorun: false }
      const worker = heard(new Worker(name, (job) => process(job.data), options, createPostgresBackend), onError)
      await usable(worker)
      worker.run().catch(onError)
      return worker
    },
    // The queues live and die with the truth they were filled from.
    wasEmptied: async () => false,
    mark: async () => {},
    close: async () => {},
  }
}

type Opened = { waitUntilReady(): Promise<unknown>; close(): Promise<void> }

/**
 * What has found its schema. One that was refused keeps the refusal for good, and a worker running on it would ask again
 * without pause: the caller gets the error instead, and opens another one.
 */
async function usable<Part extends Opened>(part: Part): Promise<Part> {
  try {
    await part.waitUntilReady()
    return part
  } catch (error) {
    await part.close().catch(() => undefined)
    throw error
  }
}

const longestReconnectMs = 2_000
const markerKey = 'routerfleet:queues-filled'

function redisBackend(url: string, onError: (error: Error) => void): QueueBackend {
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, longestReconnectMs)
  // Whoever offers jobs is told at once that Redis is away: the jobs stay in Postgres and are offered again.
  const offering = new Redis(url, { retryStrategy, enableOfflineQueue: false, maxRetriesPerRequest: 1 })
  const working = new Redis(url, { retryStrategy, maxRetriesPerRequest: null })
  for (const client of [offering, working]) client.on('error', onError)
  // The braces keep all keys of one queue in one slot of a Redis Cluster.
  const prefixOf = (name: QueueName) => `{routerfleet-${name}}`
  return {
    name: 'redis',
    openQueue: async (name) =>
      heard(new Queue(name, { connection: offering, prefix: prefixOf(name) }, createRedisBackend), onError),
    openWorker: async (name, process, settings) =>
      heard(
        new Worker(
          name,
          (job) => process(job.data),
          { ...settings, ...patience, connection: working, prefix: prefixOf(name) },
          createRedisBackend,
        ),
        onError,
      ),
    wasEmptied: async () => (await offering.exists(markerKey)) === 0,
    mark: async () => {
      await offering.set(markerKey, new Date().toISOString())
    },
    close: async () => {
      for (const client of [offering, working]) client.disconnect()
    },
  }
}

/** How soon a worker looks again after an error, and after how long another one takes a dead worker's jobs. */
const patience = { runRetryDelay: 1_000, stalledInterval: 5_000, lockDuration: 10_000, maxStalledCount: 100 }

type Emitter = { on(event: 'error', listener: (error: Error) => void): unknown }

function heard<Heard extends Emitter>(emitter: Heard, onError: (error: Error) => void): Heard {
  emitter.on('error', onError)
  return emitter
}
