import type { Clock } from '#core/clock'
import { type Erasure, eraseNightly } from '#fleet/devices/erasure'
import { sweepOffline } from '#fleet/devices/status'
import { forgetOffers, reconcileOffers } from '#fleet/jobs/queue-offers'
import { endForgottenDeadlines, expireJobs } from '#fleet/jobs/sweeps'
import { deleteExpired } from '#fleet/retention'
import { pruneWebhookDeliveries } from '#fleet/webhooks/delivery'
import type { WebhookRounds } from '#fleet/webhooks/rounds'
import type { Pool } from '#postgres/pool'
import type { QueueBackend } from '#queue/backend'
import type { PeriodicTask } from './periodic.ts'

type Parts = {
  pool: Pool
  clock: Clock
  backend: QueueBackend
  webhooks: WebhookRounds
  erasure: Erasure
  erasureHourUtc: number
}

const minuteMs = 60_000

/** Everything the worker does without being asked. */
export const periodicTasks = ({ pool, clock, backend, webhooks, erasure, erasureHourUtc }: Parts): PeriodicTask[] => [
  { name: 'expire_jobs', everyMs: 1_000, run: () => expireJobs(pool, clock()) },
  { name: 'end_overdue_jobs', everyMs: 5_000, run: () => endForgottenDeadlines(pool, clock()) },
  { name: 'refill_queues', everyMs: 2_000, run: () => refillEmptiedQueues(pool, backend) },
  { name: 'reconcile_jobs', everyMs: 30_000, run: () => reconcileOffers(pool, clock()) },
  { name: 'sweep_offline_devices', everyMs: 10_000, run: async () => (await sweepOffline(pool)).length },
  { name: 'delete_expired', everyMs: 10 * minuteMs, run: () => deleteExpired(pool) },
  { name: 'deliver_webhooks', everyMs: 500, run: () => deliverAllWebhooks(webhooks) },
  { name: 'prune_webhook_deliveries', everyMs: 60 * minuteMs, run: () => pruneWebhookDeliveries({ pool, clock }) },
  { name: 'erase_deleted_devices', everyMs: 5 * minuteMs, run: () => eraseNightly(erasure, erasureHourUtc) },
]

/** A store that lost its marker was emptied: everything it was told is told again. */
async function refillEmptiedQueues(pool: Pool, backend: QueueBackend): Promise<number> {
  if (!(await backend.wasEmptied())) return 0
  await backend.mark()
  return forgetOffers(pool)
}

const maxRounds = 20

/** Goes on while there is something to send, but gives way now and then, so that stopping does not wait for a backlog. */
async function deliverAllWebhooks(webhooks: WebhookRounds): Promise<number> {
  let sent = 0
  for (let round = 0; round < maxRounds; round++) {
    const done = await webhooks.next()
    if (done === 0) break
    sent += done
  }
  return sent
}
