import { setTimeout as delay } from 'node:timers/promises'
import { attemptDelivery, type Delivery, relayEvents, type WebhookWorker } from '#fleet/webhooks/delivery'

export type WebhookRounds = {
  /**
   * Relays what has happened and starts the attempts that are due, as far as there is room. Returns how many events and
   * attempts there were; to be called again at once while that is not zero.
   */
  next(): Promise<number>
  /** Waits for the attempts under way. */
  settle(): Promise<void>
}

// Longer than one attempt can take: a delivery whose worker died is due again after this.
const leaseMs = 60_000
const attemptsAtOnce = 256
const attemptsPerOrganization = 16
const attemptsPerWebhook = 8
/** A round waits so long for its attempts; those that take longer go on beside the next ones. */
const roundMs = 100

/**
 * Makes the attempts that are due, many beside each other. Receivers that do not answer keep only their own
 * organization's places taken: of whoever has something to send, the one with the fewest attempts under way is next.
 * Any number of workers may do so beside each other: at-least-once. `onError` hears of attempts whose outcome could not
 * be written; they are due again later.
 */
export function createWebhookRounds(worker: WebhookWorker, onError: (error: unknown) => void): WebhookRounds {
  const underWay = new Map<Delivery, Promise<void>>()

  function start(delivery: Delivery): Promise<void> {
    const attempt = attemptDelivery(worker, delivery)
      .catch(onError)
      .finally(() => underWay.delete(delivery))
    underWay.set(delivery, attempt)
    return attempt
  }

  return {
    async next() {
      const relayed = await relayEvents(worker.pool)
      const due = await claimDue(worker, [...underWay.keys()])
      const over = new AbortController()
      const ended = Promise.all(due.map(start)).then(() => over.abort())
      await Promise.race([ended, delay(roundMs, undefined, { signal: over.signal }).catch(() => {})])
      return relayed + due.length
    },
    async settle() {
      await Promise.all(underWay.values())
    },
  }
}

/** Takes due deliveries for a while, beside those `underWay`. */
async function claimDue({ pool, clock }: WebhookWorker, underWay: readonly Delivery[]): Promise<Delivery[]> {
  const room = attemptsAtOnce - underWay.length
  if (room <= 0) return []
  const nowMs = clock()
  const { rows } = await pool.query<Delivery>(
    `WITH under_way AS (
       SELECT * FROM unnest($3::uuid[], $4::uuid[]) AS attempt (organization_id, webhook_id)
     ), waiting AS MATERIALIZED (
       SELECT delivery.id, delivery.next_attempt_at, webhook.url, webhook.sealed_secret,
         row_number() OVER (PARTITION BY webhook.organization_id ORDER BY delivery.next_attempt_at)
           + (SELECT count(*) FROM under_way WHERE under_way.organization_id = webhook.organization_id) AS place
       FROM webhook CROSS JOIN LATERAL (
         SELECT id, next_attempt_at FROM webhook_delivery
         WHERE webhook_id = webhook.id AND delivered_at IS NULL AND next_attempt_at <= $1
         ORDER BY next_attempt_at
         LIMIT greatest(0, ${attemptsPerWebhook} - (SELECT count(*) FROM under_way WHERE webhook_id = webhook.id))
         FOR UPDATE SKIP LOCKED
       ) delivery
       WHERE webhook.disabled_at IS NULL
     ), due AS MATERIALIZED (
       SELECT * FROM waiting WHERE place <= ${attemptsPerOrganization} ORDER BY place, next_attempt_at LIMIT $5
     )
     UPDATE webhook_delivery SET attempt = attempt + 1, next_attempt_at = $2 FROM due
     WHERE webhook_delivery.id = due.id
     RETURNING webhook_delivery.*, due.url, due.sealed_secret`,
    [
      new Date(nowMs),
      new Date(nowMs + leaseMs),
      underWay.map((delivery) => delivery.organization_id),
      underWay.map((delivery) => delivery.webhook_id),
      room,
    ],
  )
  return rows
}
