import type { Clock } from '#core/clock'
import { recordAudit } from '#fleet/audit/record'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { Keyring } from '#fleet/crypto/keyring'
import type { WebhookOutcome, WebhookSender } from '#fleet/webhooks/sender'
import { webhookSecretPlace } from '#fleet/webhooks/webhooks'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

export type WebhookWorker = { pool: Pool; keyring: Keyring; sender: WebhookSender; clock: Clock }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** How long to wait after each failed attempt: a day in all, then the webhook is disabled. */
export const retryDelaysMs: readonly number[] = [
  5_000,
  30_000,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  8 * hourMs,
]

const relayedAtOnce = 1_000
const keptDays = 3

/** One event on its way to one webhook. */
export type Delivery = {
  id: string
  organization_id: string
  webhook_id: string
  event_id: string
  type: string
  payload: Record<string, unknown>
  attempt: number
  created_at: Date
  url: string
  sealed_secret: Buffer
}

/** Turns committed events into one delivery per subscribed webhook; returns how many events it took. */
export async function relayEvents(pool: Queryable): Promise<number> {
  const { rowCount } = await pool.query(
    `WITH taken AS MATERIALIZED (
       DELETE FROM outbox_event WHERE id IN (
         SELECT id FROM outbox_event ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING *
     ), queued AS (
       INSERT INTO webhook_delivery (id, organization_id, webhook_id, event_id, type, payload, created_at)
       SELECT uuidv7(), taken.organization_id, webhook.id, taken.id, taken.type, taken.payload, taken.created_at
       FROM taken JOIN webhook ON webhook.organization_id = taken.organization_id
         AND taken.type = ANY (webhook.events) AND webhook.disabled_at IS NULL
     )
     SELECT id FROM taken`,
    [relayedAtOnce],
  )
  return rowCount ?? 0
}

/** Sends a claimed delivery once and writes what became of it. */
export async function attemptDelivery(worker: WebhookWorker, delivery: Delivery): Promise<void> {
  const { pool, clock } = worker
  const outcome = await send(worker, delivery)
  if (outcome.delivered) return markDelivered(pool, delivery.id, clock())
  const delayMs = outcome.gone ? undefined : retryDelaysMs[delivery.attempt - 1]
  if (delayMs === undefined) return disable(worker, delivery, outcome)
  await pool.query('UPDATE webhook_delivery SET next_attempt_at = $2, last_error = $3 WHERE id = $1', [
    delivery.id,
    new Date(clock() + delayMs),
    outcome.reason,
  ])
}

async function send({ pool, keyring, sender, clock }: WebhookWorker, delivery: Delivery): Promise<WebhookOutcome> {
  const { organization_id, webhook_id } = delivery
  const key = await dataKeyOf(pool, keyring, organization_id)
  let secret: string
  try {
    secret = key.open(delivery.sealed_secret, webhookSecretPlace(webhook_id))
  } catch {
    return { delivered: false, reason: 'could not be signed', gone: false }
  }
  return sender.send({
    id: delivery.event_id,
    url: delivery.url,
    secret,
    timestampS: Math.floor(clock() / 1000),
    body: JSON.stringify({
      type: delivery.type,
      timestamp: delivery.created_at.toISOString(),
      organizationId: organization_id,
      data: delivery.payload,
    }),
  })
}

const markDelivered = async (pool: Queryable, id: string, nowMs: number): Promise<void> => {
  await pool.query('UPDATE webhook_delivery SET delivered_at = $2, last_error = NULL WHERE id = $1', [
    id,
    new Date(nowMs),
  ])
}

/** Gives a webhook up: what waits for it is not sent, and its list entry and the audit log say so. */
async function disable(
  { pool, clock }: WebhookWorker,
  { organization_id, webhook_id }: Delivery,
  { reason, gone }: Extract<WebhookOutcome, { delivered: false }>,
): Promise<void> {
  const told = gone ? 'The receiver wants no more (410).' : `Every attempt for a day failed; the last one ${reason}.`
  await transaction(pool, async (connection) => {
    const { rowCount } = await connection.query(
      'UPDATE webhook SET disabled_at = $2, disabled_reason = $3 WHERE id = $1 AND disabled_at IS NULL',
      [webhook_id, new Date(clock()), told],
    )
    if (!rowCount) return
    await connection.query('DELETE FROM webhook_delivery WHERE webhook_id = $1 AND delivered_at IS NULL', [webhook_id])
    await recordAudit(connection, [
      {
        organizationId: organization_id,
        actor: 'system',
        action: 'webhook.disabled',
        subjectType: 'webhook',
        subjectId: webhook_id,
        detail: { reason: told },
      },
    ])
  })
}

/** Forgets deliveries that were made long ago, and returns how many. */
export async function pruneWebhookDeliveries({ pool, clock }: Pick<WebhookWorker, 'pool' | 'clock'>): Promise<number> {
  const { rowCount } = await pool.query(
    'DELETE FROM webhook_delivery WHERE delivered_at IS NOT NULL AND created_at < $1',
    [new Date(clock() - keptDays * 24 * hourMs)],
  )
  return rowCount ?? 0
}
