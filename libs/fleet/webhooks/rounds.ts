import { setTimeout as delay } from 'node:timers/promises'
import { createFairRounds } from '#core/fair-rounds'
import { attemptDelivery, relayEvents } from '#fleet/webhooks/delivery'
import type { DueDelivery, WebhookWorker } from '#fleet/webhooks/due-delivery'
import { queryEntities, queryEntity } from '#postgres/entities'
import { isStoreUnavailable } from '#postgres/errors'

export type WebhookRounds = {
  /**
   * Creates deliveries for new events and starts the attempts that are due, up to the limits. Returns the number of events
   * and attempts; call again at once while it is not zero.
   */
  next(): Promise<number>
  /** Resolves when the attempts in progress have ended. */
  settle(): Promise<void>
}

// Longer than an attempt can take. A delivery whose worker died is due again after this time.
const leaseMs = 60_000
const maxAttemptsInProgress = 256
const attemptsPerOrganization = 16
const attemptsPerWebhook = 8
/** How long a round waits for its attempts. Slower attempts continue during the next rounds. */
const roundMs = 100

/**
 * Delivers webhooks, many at a time. Receivers that do not respond use only the capacity of their own organization, because
 * the organization with the fewest attempts in progress comes next. Any number of workers may run; delivery is at least
 * once. `onError` receives the errors of an organization: of events that could not be relayed, and of attempts whose outcome
 * could not be stored. These are due again later.
 */
export function createWebhookRounds(
  worker: WebhookWorker,
  onError: (error: unknown, organizationId: string) => void,
): WebhookRounds {
  const relays = createFairRounds({ onError, isUnavailable: isStoreUnavailable })
  const inProgress = new Map<DueDelivery, Promise<void>>()

  function start(delivery: DueDelivery): Promise<void> {
    const attempt = attemptDelivery(worker, delivery)
      .catch((error) => onError(error, delivery.organizationId))
      .finally(() => inProgress.delete(delivery))
    inProgress.set(delivery, attempt)
    return attempt
  }

  return {
    async next() {
      if (!(await isWorkWaiting(worker))) return 0
      const relayed = await relayEvents(worker, relays)
      const due = await claimDue(worker, [...inProgress.keys()])
      const over = new AbortController()
      const ended = Promise.all(due.map(start)).then(() => over.abort())
      await Promise.race([ended, delay(roundMs, undefined, { signal: over.signal }).catch(() => {})])
      return relayed + due.length
    },
    async settle() {
      await Promise.all(inProgress.values())
    },
  }
}

/**
 * SQL condition that attempts can be made to `webhook` at the time $now. One whose receiver is overloaded, or has never accepted a
 * delivery, rests after each failed attempt, so that it does not receive one attempt for each event.
 */
const isOpenSql = 'webhook.disabled_at IS NULL AND (webhook.held_until IS NULL OR webhook.held_until <= $now)'

const isPendingSql = 'delivered_at IS NULL AND failed_at IS NULL'

/** How many attempts `webhook` may have at the same time. Until its receiver accepts one, one tells whether it does. */
const attemptsAtOnceSql = `CASE WHEN webhook.confirmed_at IS NULL OR webhook.failures > 0 THEN 1 ELSE ${attemptsPerWebhook} END`

/** The secrets that sign the deliveries of `webhook` at the time $now, the newest first. */
const secretsSql = `CASE WHEN webhook.old_secret_expires_at > $now THEN ARRAY[webhook.sealed_secret, webhook.old_sealed_secret]
  ELSE ARRAY[webhook.sealed_secret] END`

/** Returns whether there are events or due deliveries. This costs much less than the statements that take them. */
async function isWorkWaiting({ pool, clock }: WebhookWorker): Promise<boolean> {
  const { waiting } = await queryEntity<{ waiting: boolean }>(
    pool,
    `SELECT EXISTS (SELECT FROM outbox_event) OR EXISTS (
       SELECT FROM webhook CROSS JOIN LATERAL (
         SELECT FROM webhook_delivery
         WHERE webhook_id = webhook.id AND ${isPendingSql} AND next_attempt_at <= $now
         LIMIT 1
       ) due
       WHERE ${isOpenSql}
     ) AS waiting`,
    { now: new Date(clock()) },
  )
  return waiting
}

/** Claims due deliveries for the time of the lease, within the limits that `inProgress` leaves. */
async function claimDue({ pool, clock }: WebhookWorker, inProgress: readonly DueDelivery[]): Promise<DueDelivery[]> {
  const room = maxAttemptsInProgress - inProgress.length
  if (room <= 0) return []
  const nowMs = clock()
  return queryEntities<DueDelivery>(
    pool,
    `WITH in_progress AS (
       SELECT * FROM unnest($organizations::uuid[], $webhooks::uuid[]) AS attempt (organization_id, webhook_id)
     ), waiting AS MATERIALIZED (
       SELECT delivery.id, delivery.next_attempt_at, webhook.url, ${secretsSql} AS sealed_secrets,
         row_number() OVER (PARTITION BY webhook.organization_id ORDER BY delivery.next_attempt_at)
           + (SELECT count(*) FROM in_progress WHERE in_progress.organization_id = webhook.organization_id) AS place
       FROM webhook CROSS JOIN LATERAL (
         SELECT id, next_attempt_at FROM webhook_delivery
         WHERE webhook_id = webhook.id AND ${isPendingSql} AND next_attempt_at <= $now
         ORDER BY next_attempt_at
         LIMIT greatest(0, ${attemptsAtOnceSql} - (SELECT count(*) FROM in_progress WHERE webhook_id = webhook.id))
         FOR UPDATE SKIP LOCKED
       ) delivery
       WHERE ${isOpenSql}
     ), due AS MATERIALIZED (
       SELECT * FROM waiting WHERE place <= ${attemptsPerOrganization} ORDER BY place, next_attempt_at LIMIT $room
     )
     UPDATE webhook_delivery d SET attempt = attempt + 1, first_attempt_at = coalesce(first_attempt_at, $now),
       next_attempt_at = $leaseEnd FROM due
     WHERE d.id = due.id
     RETURNING d.id, d.organization_id AS "organizationId", d.webhook_id AS "webhookId", d.event_id AS "eventId", d.type,
       d.payload AS data, d.attempt, d.created_at AS "createdAt", due.url, due.sealed_secrets AS "sealedSecrets", d.first_attempt_at AS "firstAttemptAt"`,
    {
      now: new Date(nowMs),
      leaseEnd: new Date(nowMs + leaseMs),
      organizations: inProgress.map(({ organizationId }) => organizationId),
      webhooks: inProgress.map(({ webhookId }) => webhookId),
      room,
    },
  )
}
