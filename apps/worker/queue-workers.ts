import { Counter, Histogram, type Registry } from 'prom-client'
import { resolvesWithin } from '#core/schedule'
import type { Tracing } from '#core/tracing'
import type { BackendWorker, QueueBackend } from '#queue/backend'
import type { QueueName } from '#queue/references'
import type { QueueEntry } from './queue-table.ts'
import { watchQueues } from './queue-watch.ts'

const closeLimitMs = 8_000

type Parts = {
  backend: QueueBackend
  table: readonly QueueEntry[]
  /** The queues in which an entry waits. */
  waiting: () => Promise<ReadonlySet<QueueName>>
  registry: Registry
  tracing: Tracing | undefined
  onError: (queue: QueueName, error: unknown) => void
  /** A worker that took no entry of its queue, although entries waited, was replaced by a new one. */
  onReplaced: (queue: QueueName) => void
  /** How often the workers are checked. */
  checkMs?: number
}

/**
 * Starts a worker for every queue of the table, with checks of the payloads, metrics and error reports. Replaces a worker that
 * takes nothing. `stop` lets entries in progress finish for at most 8 s, then closes the connections.
 */
export async function startQueueWorkers({
  backend,
  table,
  waiting,
  registry,
  tracing,
  onError,
  onReplaced,
  checkMs,
}: Parts): Promise<{ stop(): Promise<unknown> }> {
  const processed = new Counter({
    name: 'queue_entries_processed_total',
    help: 'Entries taken from the queues, by outcome.',
    labelNames: ['queue', 'outcome'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'queue_entry_duration_seconds',
    help: 'Time to process one entry.',
    labelNames: ['queue'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [registry],
  })
  const replaced = new Counter({
    name: 'queue_workers_replaced_total',
    help: 'Workers replaced because they took nothing while entries waited.',
    labelNames: ['queue'],
    registers: [registry],
  })
  const startOne = async ({ queue, schema, process, concurrency }: QueueEntry) => {
    let taken = 0
    let inProgress = 0
    const take = async (data: unknown) => {
      taken += 1
      inProgress += 1
      const stop = seconds.startTimer({ queue })
      try {
        await processTraced(tracing, queue, schema.parse(data), process)
        processed.inc({ queue, outcome: 'done' })
      } catch (error) {
        processed.inc({ queue, outcome: 'failed' })
        onError(queue, error)
        throw error
      } finally {
        inProgress -= 1
        stop()
      }
    }
    const open = () => backend.openWorker(queue, take, { concurrency })
    let worker = await open()
    replaced.inc({ queue }, 0)
    return {
      queue,
      taken: () => taken,
      isIdle: () => inProgress === 0,
      /** Opens another worker first: when that fails, the present one remains. */
      async replace() {
        const former = worker
        worker = await open()
        former.close(true).catch(() => undefined)
        replaced.inc({ queue })
        onReplaced(queue)
      },
      close: () => closeWorker(worker),
    }
  }
  const workers = await Promise.all(table.map(startOne))
  const watch = watchQueues({ workers, waiting, onError, ...(checkMs !== undefined && { checkMs }) })
  return {
    async stop() {
      await watch.stop()
      await Promise.all(workers.map((worker) => worker.close()))
    },
  }
}

/** Processes an entry. If it belongs to a trace, with a span that becomes the parent of what follows. */
async function processTraced(
  tracing: Tracing | undefined,
  queue: QueueName,
  payload: Parameters<QueueEntry['process']>[0],
  process: QueueEntry['process'],
): Promise<void> {
  if (!tracing || !payload.traceparent) return process(payload)
  const span = tracing.begin(`${queue} process`, { kind: 'consumer', parent: payload.traceparent })
  try {
    await process({ ...payload, traceparent: span.traceparent })
    span.end()
  } catch (error) {
    span.end(error)
    throw error
  }
}

async function closeWorker(worker: BackendWorker): Promise<void> {
  const closed = worker.close().catch(() => undefined)
  if (!(await resolvesWithin(closed, closeLimitMs))) void worker.close(true).catch(() => undefined)
}
