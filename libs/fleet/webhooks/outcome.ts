import { auditSystem } from '#fleet/audit/record'
import type { DueDelivery, WebhookWorker } from '#fleet/webhooks/due-delivery'
import type { PostOutcome } from '#fleet/webhooks/guarded-post'
import { nextAttemptMs, retryAfterMs } from '#fleet/webhooks/retry-schedule'
import { type Connection, type Queryable, transaction } from '#postgres/pool'

type Failure = Extract<PostOutcome, { delivered: false }>

/** The receiver, or the proxy in front of it, is overloaded. More events would not help it. */
const slowingStatuses: ReadonlySet<number | undefined> = new Set([429, 502, 503, 504])

/**
 * Stores that a receiver accepted a delivery. This confirms the webhook, and ends its slow-down, unless the attempt began before
 * it.
 */
export const storeDelivered = async (
  db: Queryable,
  { id }: DueDelivery,
  { startedMs, nowMs }: { startedMs: number; nowMs: number },
): Promise<void> => {
  await db.query(
    `WITH delivered AS (
       UPDATE webhook_delivery SET delivered_at = $2, last_error = NULL WHERE id = $1 RETURNING webhook_id
     )
     UPDATE webhook SET confirmed_at = coalesce(confirmed_at, $2), failures = 0, failing_since = NULL, held_until = NULL
     FROM delivered
     WHERE webhook.id = delivered.webhook_id
       AND (confirmed_at IS NULL OR failures > 0 AND (held_until IS NULL OR held_until <= $3))`,
    [id, new Date(nowMs), new Date(startedMs)],
  )
}

/** Stores a failed attempt that began at `startedMs`: when the next one is due, or that there is none. */
export const storeFailure = (
  worker: WebhookWorker,
  delivery: DueDelivery,
  { failure, startedMs }: { failure: Failure; startedMs: number },
): Promise<void> =>
  transaction(worker.pool, async (connection) => {
    const attempt = { startedMs, nowMs: worker.clock(), random: (worker.random ?? Math.random)() }
    const webhook = await lockWebhook(connection, delivery)
    if (!webhook) return
    if (failure.status === 410)
      return disable(connection, delivery, { reason: 'The receiver responded with 410 Gone.', ...attempt })
    const isHeld = await slowDown(connection, { webhook, delivery, failure, ...attempt })
    const nextMs = nextAttemptMs({
      failures: delivery.attempt,
      firstMs: Date.parse(delivery.firstAttemptAt),
      retryAfterMs: retryAfterMs(failure.retryAfter, attempt.nowMs),
      ...attempt,
    })
    if (isHeld && nextMs !== undefined) return retryLater(connection, delivery, { nextMs, reason: failure.reason })
    if (isHeld && (await acceptedOthers(connection, delivery))) {
      return giveUp(connection, delivery, { reason: failure.reason, nowMs: attempt.nowMs })
    }
    const reason = `All attempts of three days failed. Last error: ${failure.reason}.`
    await disable(connection, delivery, { reason, lastError: failure.reason, ...attempt })
  })

type FailingWebhook = { confirmed: boolean; failures: number; failing_since: Date | null; held_until: Date | null }

/** Locks an enabled webhook. Undefined if it was deleted or disabled since. */
async function lockWebhook(
  connection: Connection,
  { organizationId, webhookId }: DueDelivery,
): Promise<FailingWebhook | undefined> {
  const { rows } = await connection.query<FailingWebhook>(
    `SELECT confirmed_at IS NOT NULL AS confirmed, failures, failing_since, held_until FROM webhook
     WHERE organization_id = $1 AND id = $2 AND disabled_at IS NULL FOR UPDATE`,
    [organizationId, webhookId],
  )
  return rows[0]
}

type Attempt = { startedMs: number; nowMs: number; random: number }

/**
 * After an attempt that shows that the receiver is overloaded, lets the whole webhook rest, longer each time, whichever delivery it
 * was. So does each failed attempt of a webhook that rested before, or whose receiver never accepted a delivery. Attempts that were in
 * progress together count once. Returns false when the retry period of the webhook is over.
 */
async function slowDown(
  connection: Connection,
  {
    webhook,
    delivery,
    failure,
    ...attempt
  }: Attempt & { webhook: FailingWebhook; delivery: DueDelivery; failure: Failure },
): Promise<boolean> {
  const isSlow = webhook.failures > 0 || !webhook.confirmed
  if (!isSlow && !slowingStatuses.has(failure.status)) return true
  const heldUntilMs = webhook.held_until?.getTime() ?? 0
  const isSameFailure = webhook.failures > 0 && heldUntilMs > attempt.startedMs
  const failures = Math.max(1, isSameFailure ? webhook.failures : webhook.failures + 1)
  const firstMs = webhook.failing_since?.getTime() ?? attempt.startedMs
  const askedMs = retryAfterMs(failure.retryAfter, attempt.nowMs)
  const nextMs = nextAttemptMs({ failures, firstMs, retryAfterMs: askedMs, ...attempt })
  if (nextMs === undefined) return false
  const untilMs = isSameFailure && askedMs === 0 ? heldUntilMs : Math.max(heldUntilMs, nextMs)
  await connection.query(
    `UPDATE webhook SET failures = $3, failing_since = $4, held_until = $5 WHERE organization_id = $1 AND id = $2`,
    [delivery.organizationId, delivery.webhookId, failures, new Date(firstMs), new Date(untilMs)],
  )
  return true
}

const retryLater = async (
  connection: Connection,
  { id }: DueDelivery,
  { nextMs, reason }: { nextMs: number; reason: string },
): Promise<void> => {
  await connection.query('UPDATE webhook_delivery SET next_attempt_at = $2, last_error = $3 WHERE id = $1', [
    id,
    new Date(nextMs),
    reason,
  ])
}

/** Whether the receiver has accepted another delivery since the first attempt of this one. */
async function acceptedOthers(
  connection: Connection,
  { organizationId, webhookId, firstAttemptAt }: DueDelivery,
): Promise<boolean> {
  const { rows } = await connection.query<{ accepted: boolean }>(
    `SELECT EXISTS (SELECT FROM webhook_delivery
       WHERE organization_id = $1 AND webhook_id = $2 AND delivered_at >= $3) AS accepted`,
    [organizationId, webhookId, firstAttemptAt],
  )
  return rows[0]?.accepted ?? false
}

const giveUp = async (
  connection: Connection,
  { id }: DueDelivery,
  { reason, nowMs }: { reason: string; nowMs: number },
): Promise<void> => {
  await connection.query('UPDATE webhook_delivery SET failed_at = $2, last_error = $3 WHERE id = $1', [
    id,
    new Date(nowMs),
    reason,
  ])
}

/**
 * Disables a locked webhook: gives its pending deliveries up, and records the reason with the webhook and in the audit log. A
 * person can send the deliveries again.
 */
async function disable(
  connection: Connection,
  { id, organizationId, webhookId }: DueDelivery,
  { reason, lastError, nowMs }: { reason: string; lastError?: string; nowMs: number },
): Promise<void> {
  const now = new Date(nowMs)
  await connection.query(
    'UPDATE webhook SET disabled_at = $3, disabled_reason = $4, disabled_by_service = true WHERE organization_id = $1 AND id = $2',
    [organizationId, webhookId, now, reason],
  )
  await connection.query(
    `UPDATE webhook_delivery SET failed_at = $3,
       last_error = CASE WHEN id = $4 THEN $5 ELSE coalesce(last_error, 'the webhook was disabled before') END
     WHERE organization_id = $1 AND webhook_id = $2 AND delivered_at IS NULL AND failed_at IS NULL`,
    [organizationId, webhookId, now, id, lastError ?? 'the receiver responded with 410'],
  )
  await auditSystem(connection, {
    organizationId,
    action: 'webhook.disabled',
    subjectId: webhookId,
    detail: { reason },
  })
}
