import { type ChatKind, channelUrlPlace } from '#alerts/chat/channel'
import { alertsText, bodyFor, testText } from '#alerts/chat/format'
import type { Alert } from '#alerts/inbox/alert'
import { readNotified } from '#alerts/inbox/sentence'
import type { Clock } from '#core/clock'
import type { FairRounds } from '#core/fair-rounds'
import { pageAddress } from '#core/page-address'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Window } from '#fleet/jobs/model/schedule'
import type { GuardedPost, PostOutcome } from '#fleet/webhooks/guarded-post'
import { messagesPerTurn, postponeMessages, sendInTurns, storeFailure, storeSent, withoutQuiet } from '#messages/turns'
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

/** Longer than an attempt can take. A message whose worker died is due again after this time. */
const leaseMs = minuteMs

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
export const sendChatMessages = (worker: ChatWorker, rounds?: FairRounds): Promise<number> =>
  sendInTurns(
    worker,
    {
      table: 'chat_message',
      claim: (connection, organizationId) => claimDue(connection, worker.clock(), organizationId),
      attempt: (message) => attempt(worker, message),
    },
    rounds,
  )

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
  const due = await withoutQuiet(connection, 'chat_message', rows, nowMs)
  await postponeMessages(connection, 'chat_message', due, { attempts: 1, untilMs: nowMs + leaseMs })
  return {
    due: due.map((message) => ({ ...message, attempt: message.attempt + 1 })),
    hasMore: rows.length === messagesPerTurn,
  }
}

/** Sends a claimed message once and stores the outcome. */
async function attempt(worker: ChatWorker, message: DueMessage): Promise<void> {
  const { id, ruleId } = message
  const outcome = await send(worker, message)
  if (outcome.delivered) return storeSent(worker, 'chat_message', id)
  const isOver = ruleId === null || isPermanent(outcome)
  const delayMs = isOver ? undefined : chatRetryDelaysMs[message.attempt - 1]
  await storeFailure(worker, 'chat_message', { id, reason: outcome.reason, delayMs })
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
  const page = pageAddress(message.baseUrl, `alerts?org=${organizationId}`)
  if (ruleId === null || ruleName === null || severity === null) return testText(channelName, organizationName, page)
  const alerts = await readNotified(pool, alertIds)
  return alertsText({ ruleName, severity, organizationName, count, alerts, link: `${page}&rule=${ruleId}` })
}
