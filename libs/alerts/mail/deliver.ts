import { issueAddressLink } from '#alerts/addresses/links'
import { readNotified } from '#alerts/inbox/sentence'
import { type AlertMail, mailText } from '#alerts/mail/message'
import type { FairRounds } from '#core/fair-rounds'
import type { Window } from '#fleet/jobs/model/schedule'
import { type MailWorker, mailLeaseMs, mailRetryDelaysMs } from '#messages/mail-worker'
import { nextQuotaMs, releaseQuota, withinQuota } from '#messages/quota'
import { messagesPerTurn, postponeMessages, sendInTurns, storeFailure, storeSent, withoutQuiet } from '#messages/turns'
import type { Connection } from '#postgres/pool'

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
export const sendMails = (worker: MailWorker, rounds?: FairRounds): Promise<number> =>
  sendInTurns(
    worker,
    {
      table: 'alert_mail',
      claim: (connection, organizationId) => claimDue(connection, worker, organizationId),
      attempt: (mail) => attempt(worker, mail),
    },
    rounds,
  )

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
     ORDER BY mail.next_attempt_at LIMIT ${messagesPerTurn} FOR UPDATE OF mail SKIP LOCKED`,
    [organizationId, new Date(nowMs)],
  )
  const awake = await withoutQuiet(connection, 'alert_mail', rows, nowMs)
  const { allowed, late } = await withinQuota(connection, { plans, nowMs }, awake)
  await postponeMessages(connection, 'alert_mail', late, { attempts: 0, untilMs: nextQuotaMs(nowMs) })
  await postponeMessages(connection, 'alert_mail', allowed, { attempts: 1, untilMs: nowMs + mailLeaseMs })
  return {
    due: allowed.map((mail) => ({ ...mail, attempt: mail.attempt + 1 })),
    hasMore: rows.length === messagesPerTurn,
  }
}

async function attempt(worker: MailWorker, mail: DueMail): Promise<void> {
  const { pool, clock, mailer } = worker
  const claimedMs = clock()
  const { organizationId, baseUrl: pageUrl } = mail
  const owned = { organizationId, address: mail.address.toLowerCase() }
  const refusal = pageUrl === null ? undefined : await issueAddressLink(pool, { ...owned, pageUrl, days: refusalDays })
  const content = mailText({ ...mail, alerts: await readNotified(pool, mail.alertIds), refusal })
  const outcome = await mailer.send({ id: mail.id, to: mail.address, ...content })
  if (outcome.sent) return storeSent(worker, 'alert_mail', mail.id)
  await releaseQuota(pool, organizationId, claimedMs)
  const delayMs = outcome.permanent ? undefined : mailRetryDelaysMs[mail.attempt - 1]
  await storeFailure(worker, 'alert_mail', { id: mail.id, reason: outcome.reason, delayMs })
}
