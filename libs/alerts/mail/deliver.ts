import { issueAddressLink } from '#alerts/addresses/links'
import type { NotifiedAlert } from '#alerts/inbox/sentence'
import type { Mailer } from '#alerts/mail/mailer'
import { type AlertMail, mailText } from '#alerts/mail/message'
import { nextQuotaMs, releaseQuota, withinQuota } from '#alerts/mail/quota'
import type { Clock } from '#core/clock'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { isWindowOpen, type Window } from '#fleet/jobs/model/schedule'
import type { Plans } from '#fleet/organizations/plans'
import { systemTransaction } from '#fleet/tenant'
import { queryEntities } from '#postgres/entities'
import type { Connection, Pool } from '#postgres/pool'

export type MailWorker = { pool: Pool; plans: Plans; clock: Clock; mailer: Mailer }

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The delay after each failed attempt. After the last one, the message is given up. */
export const mailRetryDelaysMs: readonly number[] = [
  minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
]

const mailsPerRound = 20
const mailsPerTurn = 2
/** Longer than an attempt can take. A message whose worker died is due again after this time. */
export const mailLeaseMs = 5 * minuteMs
// How often a message looks whether the quiet hours are over.
const quietMs = minuteMs
// How long the reader of a message can refuse further ones with its link.
const refusalDays = 60

type DueMail = Omit<AlertMail, 'alerts' | 'refusal'> & {
  id: string
  organizationId: string
  plan: string
  address: string
  alertIds: string[]
  attempt: number
  quietHours: Window | null
  /** Null until a control plane that knows the address of the page has started. */
  baseUrl: string | null
}

/**
 * Sends the messages that are due to confirmed addresses, at most 20, except during the quiet hours of their rule and beyond
 * the daily quota of the organization. Organizations take turns. Several workers may run it; a message is sent at least once,
 * with the same Message-ID. Returns how many attempts were made.
 */
export async function sendMails(worker: MailWorker, rounds: FairRounds = createFairRounds()): Promise<number> {
  const { rows } = await worker.pool.query<{ id: string }>(organizationsWithMail, [new Date(worker.clock())])
  const attempts: Promise<void>[] = []
  const failures: { error: unknown; organizationId: string }[] = []
  const startSome = async (organizationId: string) => {
    const { due, hasMore } = await systemTransaction(worker, (connection) =>
      claimDue(connection, worker, organizationId),
    )
    for (const mail of due) {
      attempts.push(attempt(worker, mail).catch((error) => void failures.push({ error, organizationId })))
    }
    return { changes: due.length, hasMore }
  }
  try {
    return await rounds.run({
      owners: rows.map(({ id }) => id),
      workOf: (organizationId) => [() => startSome(organizationId)],
      startsOver: true,
      turnMs: 0,
      maxChanges: mailsPerRound,
    })
  } finally {
    await Promise.all(attempts)
    for (const { error, organizationId } of failures) rounds.report(error, organizationId)
  }
}

/** Skips from one organization to the next in the index instead of reading all messages. */
const organizationsWithMail = `
  WITH RECURSIVE waiting AS (
    (SELECT organization_id FROM alert_mail WHERE sent_at IS NULL AND failed_at IS NULL ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.organization_id FROM alert_mail m
            WHERE m.sent_at IS NULL AND m.failed_at IS NULL AND m.organization_id > waiting.organization_id
            ORDER BY m.organization_id LIMIT 1)
    FROM waiting WHERE waiting.organization_id IS NOT NULL
  )
  SELECT organization_id AS id FROM waiting
  WHERE organization_id IS NOT NULL AND EXISTS (
    SELECT FROM alert_mail due WHERE due.organization_id = waiting.organization_id
      AND due.sent_at IS NULL AND due.failed_at IS NULL AND due.next_attempt_at <= $1)`

/** Claims the next messages of an organization. `hasMore`: more may be due. */
async function claimDue(
  connection: Connection,
  { plans, clock }: MailWorker,
  organizationId: string,
): Promise<{ due: DueMail[]; hasMore: boolean }> {
  const nowMs = clock()
  const { rows } = await connection.query<DueMail>(
    `SELECT mail.id, mail.organization_id AS "organizationId", o.plan, mail.address, mail.alert_ids AS "alertIds",
       mail.alert_count AS count, mail.attempt, r.name AS "ruleName", r.severity, r.quiet_hours AS "quietHours",
       o.name AS "organizationName", a.base_url AS "baseUrl"
     FROM alert_mail mail JOIN alert_rule r ON r.id = mail.rule_id JOIN organization o ON o.id = mail.organization_id
       JOIN alert_address a ON a.organization_id = mail.organization_id AND a.address = lower(mail.address)
         AND a.state = 'confirmed'
     WHERE mail.organization_id = $1 AND mail.sent_at IS NULL AND mail.failed_at IS NULL AND mail.next_attempt_at <= $2
     ORDER BY mail.next_attempt_at LIMIT ${mailsPerTurn} FOR UPDATE OF mail SKIP LOCKED`,
    [organizationId, new Date(nowMs)],
  )
  const isQuiet = ({ quietHours }: DueMail) => quietHours !== null && isWindowOpen(quietHours, nowMs)
  const quiet = rows.filter(isQuiet)
  const { allowed, late } = await withinQuota(
    connection,
    { plans, nowMs },
    rows.filter((mail) => !isQuiet(mail)),
  )
  const postpone = (mails: readonly DueMail[], attempts: number, delayMs: number) =>
    connection.query('UPDATE alert_mail SET attempt = attempt + $2, next_attempt_at = $3 WHERE id = ANY ($1::uuid[])', [
      mails.map(({ id }) => id),
      attempts,
      new Date(nowMs + delayMs),
    ])
  await postpone(quiet, 0, quietMs)
  await postpone(late, 0, nextQuotaMs(nowMs) - nowMs)
  await postpone(allowed, 1, mailLeaseMs)
  return { due: allowed.map((mail) => ({ ...mail, attempt: mail.attempt + 1 })), hasMore: rows.length === mailsPerTurn }
}

async function attempt(worker: MailWorker, mail: DueMail): Promise<void> {
  const { pool, clock, mailer } = worker
  const claimedMs = clock()
  const { organizationId, baseUrl: pageUrl } = mail
  const owned = { organizationId, address: mail.address.toLowerCase() }
  const refusal = pageUrl === null ? undefined : await issueAddressLink(pool, { ...owned, pageUrl, days: refusalDays })
  const content = mailText({ ...mail, alerts: await readAlerts(pool, mail.alertIds), refusal })
  const outcome = await mailer.send({ id: mail.id, to: mail.address, ...content })
  if (outcome.sent) {
    await pool.query('UPDATE alert_mail SET sent_at = $2, last_error = NULL WHERE id = $1', [
      mail.id,
      new Date(clock()),
    ])
    return
  }
  await releaseQuota(pool, organizationId, claimedMs)
  const delayMs = outcome.permanent ? undefined : mailRetryDelaysMs[mail.attempt - 1]
  await pool.query('UPDATE alert_mail SET next_attempt_at = $2, failed_at = $3, last_error = $4 WHERE id = $1', [
    mail.id,
    new Date(clock() + (delayMs ?? 0)),
    delayMs === undefined ? new Date(clock()) : null,
    outcome.reason,
  ])
}

const readAlerts = (pool: Pool, alertIds: readonly string[]): Promise<NotifiedAlert[]> =>
  queryEntities(
    pool,
    `SELECT d.name AS "deviceName", a.device_id AS "deviceId", a.kind, a.since, a.measured, a.state = 'closed' AS closed
     FROM alert a LEFT JOIN device d ON d.id = a.device_id AND d.organization_id = a.organization_id
     WHERE a.id = ANY ($alertIds::uuid[]) ORDER BY a.id`,
    { alertIds },
  )
