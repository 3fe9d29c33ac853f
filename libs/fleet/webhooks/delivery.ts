import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { DueDelivery, WebhookWorker } from '#fleet/webhooks/due-delivery'
import type { PostOutcome } from '#fleet/webhooks/guarded-post'
import { storeDelivered, storeFailure } from '#fleet/webhooks/outcome'
import { webhookSecretPlace } from '#fleet/webhooks/webhooks'
import { deleteInChunks } from '#postgres/delete-in-chunks'
import type { Pool } from '#postgres/pool'

const deliveriesAtOnce = 1_000
const relayTurnMs = 100
const relayMs = 500
/** Longer than an event is retried, so that a person can see the outcome for some days. */
const retentionMs = 7 * 24 * 60 * 60_000

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
  const startedMs = clock()
  const outcome = await send(worker, delivery)
  if (outcome.delivered) return storeDelivered(pool, delivery, { startedMs, nowMs: clock() })
  await storeFailure(worker, delivery, { failure: outcome, startedMs })
}

async function send({ pool, keyring, sender, clock }: WebhookWorker, delivery: DueDelivery): Promise<PostOutcome> {
  const { organizationId, webhookId, type, data, sealedSecrets } = delivery
  const key = await dataKeyOf(pool, keyring, organizationId)
  let secrets: string[]
  try {
    secrets = sealedSecrets.map((sealed) => key.open(sealed, webhookSecretPlace(webhookId)))
  } catch {
    return { delivered: false, reason: 'the event could not be signed' }
  }
  return sender.send({
    id: delivery.eventId,
    url: delivery.url,
    secrets,
    timestampS: Math.floor(clock() / 1000),
    body: JSON.stringify({ type, timestamp: delivery.createdAt, organizationId, data }),
  })
}

/** Deletes the deliveries of events that are older than seven days, and the earlier secrets that sign no more. Returns how many. */
export async function pruneWebhooks({ pool, clock }: Pick<WebhookWorker, 'pool' | 'clock'>): Promise<number> {
  const { rowCount } = await pool.query(
    'UPDATE webhook SET old_sealed_secret = NULL, old_secret_expires_at = NULL WHERE old_secret_expires_at <= $1',
    [new Date(clock())],
  )
  const deleted = await deleteInChunks(pool, [
    {
      table: 'webhook_delivery',
      where: '(delivered_at IS NOT NULL OR failed_at IS NOT NULL) AND created_at < $1',
      values: [new Date(clock() - retentionMs)],
    },
  ])
  return deleted + (rowCount ?? 0)
}
