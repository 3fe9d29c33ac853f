import { type Repeating, repeat } from '#core/schedule'
import type { QueueName } from '#queue/references'

/** A worker of one queue, as the watch sees it. */
type WatchedWorker = {
  queue: QueueName
  /** How many entries it has taken since its start. */
  taken(): number
  /** True while it processes no entry. */
  isIdle(): boolean
  replace(): Promise<void>
}

type Parts = {
  workers: readonly WatchedWorker[]
  /** The queues in which an entry waits. */
  waiting: () => Promise<ReadonlySet<QueueName>>
  onError: (queue: QueueName, error: unknown) => void
  checkMs?: number
}

/** A worker that works asks for entries at least every 10 s. This one took none for 30 s. */
const checksBeforeReplacement = 6
const defaultCheckMs = 5_000

/**
 * Replaces a worker that took no entry and processed none during several checks, although entries waited at each of them. Its
 * connections are broken in a way from which the clients of Redis or Postgres do not recover. While the queues themselves do
 * not answer, no worker is replaced.
 */
export function watchQueues({ workers, waiting, onError, checkMs = defaultCheckMs }: Parts): Repeating {
  const seen = new Map<WatchedWorker, { taken: number; checks: number }>()

  async function check(worker: WatchedWorker, queues: ReadonlySet<QueueName>): Promise<void> {
    const taken = worker.taken()
    const last = seen.get(worker)
    const isStuck = queues.has(worker.queue) && worker.isIdle() && taken === last?.taken
    const checks = isStuck ? last.checks + 1 : 0
    seen.set(worker, { taken, checks: checks % checksBeforeReplacement })
    if (checks < checksBeforeReplacement) return
    await worker.replace().catch((error: unknown) => onError(worker.queue, error))
  }

  return repeat(
    checkMs,
    async () => {
      // A failure is one of the producers, which report it.
      const queues = await waiting().catch(() => new Set<QueueName>())
      await Promise.all(workers.map((worker) => check(worker, queues)))
    },
    () => undefined,
  )
}
