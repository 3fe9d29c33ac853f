import type { Clock } from '#core/clock'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { auditSystem } from '#fleet/audit/record'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { Keyring } from '#fleet/crypto/keyring'
import type { WebhookOutcome, WebhookSender } from '#fleet/webhooks/sender'
import { webhookSecretPlace } from '#fleet/webhooks/webhooks'
import { deleteInChunks } from '#postgres/delete-in-chunks'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

export type WebhookWorker = { pool: Pool; keyring: Keyring; sender: WebhookSender; clock: Clock }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The delay after each failed attempt. After the last one, a day after the first, the webhook is disabled. */
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

const deliveriesAtOnce = 1_000
const relayTurnMs = 100
const relayMs = 500
const retentionDays = 3

/** The delivery of one event to one webhook, claimed for an attempt. */
export type DueDelivery = {
  id: string
  organizationId: string
  webhookId: string
  eventId: string
  type: string
  data: Record<string, unknown>
  attempt: number
  createdAt: string
  url: string
  sealedSecret: Buffer
}

/**
 * Creates a delivery for each event and subscribed webhook, and deletes the events, organization by organization. Stops after
 * half a second; the next call continues. Returns how many events.
 */
export async function relayEvents(
  { pool }: Pick<WebhookWorker, 'pool'>,
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(organizationsWithEvents)
  return rounds.run({
    owners: rows.map(({ id }) => id),
    workOf: (organizationId) => [() => relaySome(pool, organizationId)],
    turnMs: relayTurnMs,
    roundMs: relayMs,
  })
}

/** Skips from one organization to the next in the index instead of reading all events. */
const organizationsWithEvents = `
  WITH RECURSIVE waiting AS (
    (SELECT organization_id FROM outbox_event ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT e.organization_id FROM outbox_event e WHERE e.organization_id > waiting.organization_id
            ORDER BY e.organization_id LIMIT 1)
    FROM waiting WHERE waiting.organization_id IS NOT NULL
  )
  SELECT organization_id AS id FROM waiting WHERE organization_id IS NOT NULL`

/** Relays the oldest events of an organization: as many as cause about `deliveriesAtOnce` deliveries. */
async function relaySome(pool: Pool, organizationId: string): Promise<{ changes: number; hasMore: boolean }> {
  const { rows } = await pool.query<{ relayed: number; wanted: number }>(
    `WITH receiver AS MATERIALIZED (
       SELECT id, events FROM webhook WHERE organization_id = $1 AND disabled_at IS NULL
     ), share AS (
       SELECT greatest(1, $2::int / greatest(1, count(*)))::int AS wanted FROM receiver
     ), taken AS MATERIALIZED (
       DELETE FROM outbox_event WHERE organization_id = $1 AND id IN (
         SELECT id FROM outbox_event WHERE organization_id = $1 ORDER BY id
         LIMIT (SELECT wanted FROM share) FOR UPDATE SKIP LOCKED)
       RETURNING *
     ), queued AS (
       INSERT INTO webhook_delivery (id, organization_id, webhook_id, event_id, type, payload, created_at)
       SELECT uuidv7(), taken.organization_id, receiver.id, taken.id, taken.type, taken.payload, taken.created_at
       FROM taken JOIN receiver ON taken.type = ANY (receiver.events)
     )
     SELECT (SELECT count(*)::int FROM taken) AS relayed, wanted FROM share`,
    [organizationId, deliveriesAtOnce],
  )
  const { relayed, wanted } = rows[0] ?? { relayed: 0, wanted: 1 }
  return { changes: relayed, hasMore: relayed === wanted }
}

/** Sends a claimed delivery once and stores the outcome. */
export async function attemptDelivery(worker: WebhookWorker, delivery: DueDelivery): Promise<void> {
  const { pool, clock } = worker
  const outcome = await send(worker, delivery)
  if (outcome.delivered) return markDelivered(pool, delivery.id, clock())
  const delayMs = outcome.gone ? undefined : retryDelaysMs[delivery.attempt - 1]
  const canHold = delayMs !== undefined && (await holdUnconfirmed(worker, delivery))
  if (delayMs === undefined || !canHold) return disable(worker, delivery, outcome)
  await pool.query('UPDATE webhook_delivery SET next_attempt_at = $2, last_error = $3 WHERE id = $1', [
    delivery.id,
    new Date(clock() + delayMs),
    outcome.reason,
  ])
}

async function send({ pool, keyring, sender, clock }: WebhookWorker, delivery: DueDelivery): Promise<WebhookOutcome> {
  const { organizationId, webhookId, type, data } = delivery
  const key = await dataKeyOf(pool, keyring, organizationId)
  let secret: string
  try {
    secret = key.open(delivery.sealedSecret, webhookSecretPlace(webhookId))
  } catch {
    return { delivered: false, reason: 'the event could not be signed', gone: false }
  }
  return sender.send({
    id: delivery.eventId,
    url: delivery.url,
    secret,
    timestampS: Math.floor(clock() / 1000),
    body: JSON.stringify({ type, timestamp: delivery.createdAt, organizationId, data }),
  })
}

const markDelivered = async (pool: Queryable, id: string, nowMs: number): Promise<void> => {
  await pool.query(
    `WITH delivered AS (
       UPDATE webhook_delivery SET delivered_at = $2, last_error = NULL WHERE id = $1 RETURNING webhook_id
     )
     UPDATE webhook SET confirmed_at = $2, failures = 0, held_until = NULL FROM delivered
     WHERE webhook.id = delivered.webhook_id AND webhook.confirmed_at IS NULL`,
    [id, new Date(nowMs)],
  )
}

/**
 * After a failed attempt, lets a webhook whose receiver never accepted a delivery rest, longer each time, whichever delivery it
 * was. Returns false when all attempts are used up.
 */
async function holdUnconfirmed({ pool, clock }: WebhookWorker, { webhookId }: DueDelivery): Promise<boolean> {
  const { rows } = await pool.query<{ failures: number }>(
    `UPDATE webhook SET failures = failures + 1,
       held_until = $2::timestamptz + make_interval(secs => coalesce(($3::int[])[failures + 1], 0) / 1000.0)
     WHERE id = $1 AND confirmed_at IS NULL RETURNING failures`,
    [webhookId, new Date(clock()), retryDelaysMs],
  )
  return (rows[0]?.failures ?? 0) <= retryDelaysMs.length
}

/** Disables a webhook: deletes its pending deliveries, and records the reason with the webhook and in the audit log. */
async function disable(
  { pool, clock }: WebhookWorker,
  { organizationId, webhookId }: DueDelivery,
  { reason, gone }: Extract<WebhookOutcome, { delivered: false }>,
): Promise<void> {
  const disabledReason = gone
    ? 'The receiver responded with 410 Gone.'
    : `All attempts of one day failed. Last error: ${reason}.`
  await transaction(pool, async (connection) => {
    const { rowCount } = await connection.query(
      'UPDATE webhook SET disabled_at = $2, disabled_reason = $3 WHERE id = $1 AND disabled_at IS NULL',
      [webhookId, new Date(clock()), disabledReason],
    )
    if (!rowCount) return
    await connection.query('DELETE FROM webhook_delivery WHERE webhook_id = $1 AND delivered_at IS NULL', [webhookId])
    await auditSystem(connection, {
      organizationId,
      action: 'webhook.disabled',
      subjectId: webhookId,
      detail: { reason: disabledReason },
    })
  })
}

/** Deletes completed deliveries after three days. Returns how many. */
export const pruneWebhookDeliveries = ({ pool, clock }: Pick<WebhookWorker, 'pool' | 'clock'>): Promise<number> =>
  deleteInChunks(pool, [
    {
      table: 'webhook_delivery',
      where: 'delivered_at IS NOT NULL AND created_at < $1',
      values: [new Date(clock() - retentionDays * 24 * hourMs)],
    },
  ])
