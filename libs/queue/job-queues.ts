import type { JobsOptions } from 'bullmq'
import type { QueuedEntry } from '#fleet/jobs/queue-offers'
import type { QueueBackend } from '#queue/backend'
import { type QueueName, queueNames } from '#queue/references'

export type JobQueues = {
  /** Adds entries. Ignores an entry whose job and attempt, or slice, are already in the queue. */
  add(name: QueueName, entries: readonly QueuedEntry[]): Promise<void>
  /** The queues in which an entry waits for a worker, and could be processed now. */
  waiting(): Promise<Set<QueueName>>
  /** Number of entries in each queue by state, for the metrics. */
  depths(): Promise<{ queue: QueueName; state: string; count: number }[]>
  close(): Promise<void>
}

// Larger calls block Redis and the event loop for too long.
const bulkSize = 250

/**
 * A finished entry is removed at once, so that the same attempt of a job can be offered again after a hold. `attempts` are
 * those of our transaction, for example while Postgres restarts. Postgres counts the attempts of jobs.
 */
const entryOptions: JobsOptions = {
  attempts: 10,
  backoff: { type: 'fixed', delay: 1_000 },
  removeOnComplete: true,
  removeOnFail: true,
}

const entryId = (reference: QueuedEntry['reference']): string =>
  'jobId' in reference
    ? `${reference.jobId}-${reference.attempt}`
    : `${reference.batchId}-${reference.after}-${reference.upTo}`

/** Opens all queues for producers. Rejects when the backend cannot open one. */
export async function openJobQueues(backend: QueueBackend): Promise<JobQueues> {
  const queues = new Map(
    await Promise.all(queueNames.map(async (name) => [name, await backend.openQueue(name)] as const)),
  )
  return {
    async add(name, entries) {
      for (let start = 0; start < entries.length; start += bulkSize) {
        await queues.get(name)?.addBulk(
          entries.slice(start, start + bulkSize).map(({ reference, delayMs, priority }) => ({
            name,
            data: reference,
            opts: {
              ...entryOptions,
              priority,
              jobId: entryId(reference),
              ...(delayMs > 0 ? { delay: delayMs } : {}),
            },
          })),
        )
      }
    },
    async waiting() {
      const names = await Promise.all(
        [...queues].map(async ([name, queue]) => {
          // An entry that another worker took over has lost its priority and is in the state `wait`.
          const { wait = 0, prioritized = 0 } = await queue.getJobCounts('wait', 'prioritized')
          return wait + prioritized + (await queue.getDelayedCount(Date.now())) > 0 ? name : undefined
        }),
      )
      return new Set(names.filter((name) => name !== undefined))
    },
    async depths() {
      const states = await Promise.all(
        [...queues].map(async ([name, queue]) => {
          const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed')
          return Object.entries(counts).map(([state, count]) => ({ queue: name, state, count }))
        }),
      )
      return states.flat()
    },
    async close() {
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()))
    },
  }
}
