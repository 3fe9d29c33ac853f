import { Counter, Histogram, type Registry } from 'prom-client'
import type { BackendWorker, QueueBackend } from '#queue/backend'
import type { QueueName } from '#queue/references'
import type { QueueEntry } from './queue-table.ts'

const closeLimitMs = 8_000

type Parts = {
  backend: QueueBackend
  table: readonly QueueEntry[]
  registry: Registry
  onError: (queue: QueueName, error: unknown) => void
}

/**
 * Starts a worker for every row of the table. This is the one place that wraps them all: payloads are checked, outcomes
 * counted. Returns how to stop: what is being worked on may finish within 8 s, then connections are cut.
 */
export async function startQueueWorkers({
  backend,
  table,
  registry,
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
    help: 'Time one entry was worked on.',
    labelNames: ['queue'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [registry],
  })
  const wrapped =
    ({ queue, schema, process }: QueueEntry) =>
    async (data: unknown) => {
      const stop = seconds.startTimer({ queue })
      try {
        await process(schema.parse(data))
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
  return { stop: () => Promise.all(workers.map(closeWithin)) }
}

async function closeWithin(worker: BackendWorker): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), closeLimitMs)
  })
  const closed = worker.close().catch(() => undefined)
  if ((await Promise.race([closed, late])) === 'late') void worker.close(true).catch(() => undefined)
  clearTimeout(timer)
}
