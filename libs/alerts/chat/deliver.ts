import { type ChatKind, channelUrlPlace } from '#alerts/chat/channel'
import { alertsText, bodyFor, testText } from '#alerts/chat/format'
import type { Alert } from '#alerts/inbox/alert'
import type { NotifiedAlert } from '#alerts/inbox/sentence'
import type { Clock } from '#core/clock'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { Keyring } from '#fleet/crypto/keyring'
import { isWindowOpen, type Window } from '#fleet/jobs/model/schedule'
import { systemTransaction } from '#fleet/tenant'
import type { GuardedPost, PostOutcome } from '#fleet/webhooks/guarded-post'
import { queryEntities } from '#postgres/entities'
import type { Connection, Pool } from '#postgres/pool'

export type ChatWorker = { pool: Pool; keyring: Keyring; clock: Clock; sender: GuardedPost }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The delay after each failed attempt. After the last one, the message is given up. A test has one attempt. */
export const chatRetryDelaysMs: readonly number[] = [
  10_000,
  minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
]

const messagesPerRound = 20
const messagesPerTurn = 2
/** Longer than an attempt can take. A message whose worker died is due again after this time. */
const leaseMs = minuteMs
// How often a message looks whether the quiet hours are over.
const quietMs = minuteMs

type DueMessage = {
  id: string
  organizationId: string
  organizationName: string
  channelId: string
  channelName: string
  kind: ChatKind
  sealedUrl: Buffer
  baseUrl: string
  /** Null for a test. */
  ruleId: string | null
  ruleName: string | null
  severity: Alert['severity'] | null
  quietHours: Window | null
  alertIds: string[]
  count: number
  attempt: number
}

/**
 * Sends the messages to chat channels that are due, at most 20, except during the quiet hours of their rule. Organizations take
 * turns. Several workers may run it; a message is sent at least once. Returns how many attempts were made.
 */
export async function sendChatMessages(worker: ChatWorker, rounds: FairRounds = createFairRounds()): Promise<number> {
  const { rows } = await worker.pool.query<{ id: string }>(organizationsWithMessages, [new Date(worker.clock())])
  const attempts: Promise<void>[] = []
  const failures: { error: unknown; organizationId: string }[] = []
  const startSome = async (organizationId: string) => {
    const { due, hasMore } = await systemTransaction(worker, (connection) =>
      claimDue(connection, worker.clock(), organizationId),
    )
    for (const message of due) {
      attempts.push(attempt(worker, message).catch((error) => void failures.push({ error, organizationId })))
    }
    return { changes: due.length, hasMore }
  }
  try {
    return await rounds.run({
      owners: rows.map(({ id }) => id),
      workOf: (organizationId) => [() => startSome(organizationId)],
      startsOver: true,
      turnMs: 0,
      maxChanges: messagesPerRound,
    })
  } finally {
    await Promise.all(attempts)
    for (const { error, organizationId } of failures) rounds.report(error, organizationId)
  }
}

/** Skips from one organization to the next in the index instead of reading all messages. */
const organizationsWithMessages = `
  WITH RECURSIVE waiting AS (
    (SELECT organization_id FROM chat_message WHERE sent_at IS NULL AND failed_at IS NULL ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.organization_id FROM chat_message m
            WHERE m.sent_at IS NULL AND m.failed_at IS NULL AND m.organization_id > waiting.organization_id
            ORDER BY m.organization_id LIMIT 1)
    FROM waiting WHERE waiting.organization_id IS NOT NULL
  )
  SELECT organization_id AS id FROM waiting
  WHERE organization_id IS NOT NULL AND EXISTS (
    SELECT FROM chat_message due WHERE due.organization_id = waiting.organization_id
      AND due.sent_at IS NULL AND due.failed_at IS NULL AND due.next_attempt_at <= $1)`

/** Claims the next messages of an organization. `hasMore`: more may be due. */
async function claimDue(
  connection: Connection,
  nowMs: number,
  organizationId: string,
): Promise<{ due: DueMessage[]; hasMore: boolean }> {
  const { rows } = await connection.query<DueMessage>(
    `SELECT m.id, m.organization_id AS "organizationId", o.name AS "organizationName", c.id AS "channelId",
       c.name AS "channelName", c.kind, c.sealed_url AS "sealedUrl", c.base_url AS "baseUrl", m.rule_id AS "ruleId",
       r.name AS "ruleName", r.severity, r.quiet_hours AS "quietHours", m.alert_ids AS "alertIds",
       m.alert_count AS count, m.attempt
     FROM chat_message m JOIN chat_channel c ON c.id = m.channel_id JOIN organization o ON o.id = m.organization_id
       LEFT JOIN alert_rule r ON r.id = m.rule_id
     WHERE m.organization_id = $1 AND m.sent_at IS NULL AND m.failed_at IS NULL AND m.next_attempt_at <= $2
     ORDER BY m.next_attempt_at LIMIT ${messagesPerTurn} FOR UPDATE OF m SKIP LOCKED`,
    [organizationId, new Date(nowMs)],
  )
  const isQuiet = ({ quietHours }: DueMessage) => quietHours !== null && isWindowOpen(quietHours, nowMs)
  const [quiet, due] = [rows.filter(isQuiet), rows.filter((message) => !isQuiet(message))]
  const postpone = (messages: readonly DueMessage[], attempts: number, delayMs: number) =>
    connection.query(
      'UPDATE chat_message SET attempt = attempt + $2, next_attempt_at = $3 WHERE id = ANY ($1::uuid[])',
      [messages.map(({ id }) => id), attempts, new Date(nowMs + delayMs)],
    )
  await postpone(quiet, 0, quietMs)
  await postpone(due, 1, leaseMs)
  return {
    due: due.map((message) => ({ ...message, attempt: message.attempt + 1 })),
    hasMore: rows.length === messagesPerTurn,
  }
}

/** Sends a claimed message once and stores the outcome. */
async function attempt(worker: ChatWorker, message: DueMessage): Promise<void> {
  const { pool, clock } = worker
  const outcome = await send(worker, message)
  if (outcome.delivered) {
    await pool.query('UPDATE chat_message SET sent_at = $2, last_error = NULL WHERE id = $1', [
      message.id,
      new Date(clock()),
    ])
    return
  }
  const isOver = message.ruleId === null || isPermanent(outcome)
  const delayMs = isOver ? undefined : chatRetryDelaysMs[message.attempt - 1]
  await pool.query('UPDATE chat_message SET next_attempt_at = $2, failed_at = $3, last_error = $4 WHERE id = $1', [
    message.id,
    new Date(clock() + (delayMs ?? 0)),
    delayMs === undefined ? new Date(clock()) : null,
    outcome.reason,
  ])
}

/** Whether another attempt would fail as well: the receiver refuses the URL or the message, and is not only busy. */
const isPermanent = ({ status }: Extract<PostOutcome, { delivered: false }>): boolean =>
  status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429

async function send({ pool, keyring, sender }: ChatWorker, message: DueMessage): Promise<PostOutcome> {
  const { organizationId, channelId, kind } = message
  const key = await dataKeyOf(pool, keyring, organizationId)
  let url: string
  try {
    url = key.open(message.sealedUrl, channelUrlPlace(channelId))
  } catch {
    return { delivered: false, reason: 'the URL could not be decrypted' }
  }
  return sender.post({ url, body: JSON.stringify(bodyFor(kind, await textOf(pool, message))) })
}

async function textOf(pool: Pool, message: DueMessage) {
  const { organizationId, organizationName, channelName, ruleId, ruleName, severity, count, alertIds } = message
  const page = `${message.baseUrl.replace(/\/$/, '')}/#/alerts?org=${organizationId}`
  if (ruleId === null || ruleName === null || severity === null) return testText(channelName, organizationName, page)
  const alerts = await readAlerts(pool, alertIds)
  return alertsText({ ruleName, severity, organizationName, count, alerts, link: `${page}&rule=${ruleId}` })
}

const readAlerts = (pool: Pool, alertIds: readonly string[]): Promise<NotifiedAlert[]> =>
  queryEntities(
    pool,
    `SELECT d.name AS "deviceName", a.device_id AS "deviceId", a.kind, a.since, a.measured, a.state = 'closed' AS closed
     FROM alert a LEFT JOIN device d ON d.id = a.device_id AND d.organization_id = a.organization_id
     WHERE a.id = ANY ($alertIds::uuid[]) ORDER BY a.id`,
    { alertIds },
  )
