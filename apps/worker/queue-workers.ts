import { Counter, Histogram, type Registry } from 'prom-client'
import { resolvesWithin } from '#core/schedule'
import type { Tracing } from '#core/tracing'
import type { BackendWorker, QueueBackend } from '#queue/backend'
import type { QueueName } from '#queue/references'
import type { QueueEntry } from './queue-table.ts'

const closeLimitMs = 8_000

type Parts = {
  backend: QueueBackend
  table: readonly QueueEntry[]
  registry: Registry
  tracing: Tracing | undefined
  onError: (queue: QueueName, error: unknown) => void
}

/**
 * Starts a worker for every queue of the table, with checks of the payloads, metrics and error reports. `stop` lets entries
 * in progress finish for at most 8 s, then closes the connections.
 */
export async function startQueueWorkers({
  backend,
  table,
  registry,
  tracing,
  onError,
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
  const wrapped =
    ({ queue, schema, process }: QueueEntry) =>
    async (data: unknown) => {
      const stop = seconds.startTimer({ queue })
      try {
        await processTraced(tracing, queue, schema.parse(data), process)
        processed.inc({ queue, outcome: 'done' })
      } catch (error) {
        processed.inc({ queue, outcome: 'failed' })
        onError(queue, error)
        throw error
      } finally {
        stop()
      }
    }
  const workers = await Promise.all(
    table.map((entry) => backend.openWorker(entry.queue, wrapped(entry), { concurrency: entry.concurrency })),
  )
  return { stop: () => Promise.all(workers.map(closeWorker)) }
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
