import type { Clock } from '#core/clock'
import { sweepOffline } from '#fleet/device-status'
import { forgetOffers, reconcileOffers } from '#fleet/job-outbox'
import { endForgottenDeadlines, expireJobs } from '#fleet/job-sweeps'
import type { Pool } from '#postgres/pool'
import type { QueueBackend } from '#queue/backend'
import type { PeriodicTask } from './periodic.ts'

type Parts = { pool: Pool; clock: Clock; backend: QueueBackend }

/** Everything the worker does without being asked. */
export const periodicTasks = ({ pool, clock, backend }: Parts): PeriodicTask[] => [
  { name: 'expire_jobs', everyMs: 1_000, run: () => expireJobs(pool, clock()) },
  { name: 'end_overdue_jobs', everyMs: 5_000, run: () => endForgottenDeadlines(pool, clock()) },
  { name: 'refill_queues', everyMs: 2_000, run: () => refillEmptiedQueues(pool, backend) },
  { name: 'reconcile_jobs', everyMs: 30_000, run: () => reconcileOffers(pool, clock()) },
  { name: 'sweep_offline_devices', everyMs: 10_000, run: async () => (await sweepOffline(pool)).length },
]

/** A store that lost its marker was emptied: everything it was told is told again. */
async function refillEmptiedQueues(pool: Pool, backend: QueueBackend): Promise<number> {
  if (!(await backend.wasEmptied())) return 0
  await backend.mark()
  return forgetOffers(pool)
}
