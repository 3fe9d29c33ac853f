import { issueAddressLink } from '#alerts/addresses/links'
import { confirmationText } from '#alerts/mail/message'
import { newId } from '#core/ids'
import { systemTransaction } from '#fleet/tenant'
import { type MailWorker, mailLeaseMs, mailRetryDelaysMs } from '#messages/mail-worker'
import { nextQuotaMs, releaseQuota, withinQuota } from '#messages/quota'
import type { Connection } from '#postgres/pool'

const messagesPerRound = 20

/** How long a person can use the link of a confirmation. */
const linkDays = 7

type DueConfirmation = {
  organizationId: string
  organizationName: string
  plan: string
  address: string
  baseUrl: string
  attempt: number
}

/**
 * Sends the links that are due to addresses that wait for their confirmation, at most 20; organizations take turns. Several
 * workers may run it. Returns how many attempts were made.
 */
export async function sendConfirmations(worker: MailWorker): Promise<number> {
  const nowMs = worker.clock()
  const claimed = await systemTransaction(worker, (connection) => claimDue(connection, worker, nowMs))
  await Promise.all(claimed.map((due) => attempt(worker, due, nowMs)))
  return claimed.length
}

async function claimDue(connection: Connection, { plans }: MailWorker, nowMs: number): Promise<DueConfirmation[]> {
  const { rows } = await connection.query<DueConfirmation>(
    `SELECT a.organization_id AS "organizationId", a.address, a.base_url AS "baseUrl", a.attempt,
       o.name AS "organizationName", o.plan
     FROM alert_address a JOIN organization o ON o.id = a.organization_id
     WHERE (a.organization_id, a.address) IN (
       SELECT organization_id, address FROM (
         SELECT organization_id, address,
           row_number() OVER (PARTITION BY organization_id ORDER BY next_attempt_at, address) AS turn
         FROM alert_address WHERE next_attempt_at <= $1 AND state = 'waiting' AND base_url IS NOT NULL) due
       ORDER BY turn LIMIT ${messagesPerRound})
       AND a.next_attempt_at <= $1 AND a.state = 'waiting'
     FOR UPDATE OF a SKIP LOCKED`,
    [new Date(nowMs)],
  )
  const { allowed, late } = await withinQuota(connection, { plans, nowMs }, rows)
  const postpone = (due: readonly DueConfirmation[], attempts: number, untilMs: number) =>
    connection.query(
      `UPDATE alert_address a SET attempt = attempt + $3, next_attempt_at = $4
       FROM unnest($1::uuid[], $2::text[]) AS due (organization_id, address)
       WHERE a.organization_id = due.organization_id AND a.address = due.address`,
      [due.map(({ organizationId }) => organizationId), due.map(({ address }) => address), attempts, new Date(untilMs)],
    )
  await postpone(late, 0, nextQuotaMs(nowMs))
  await postpone(allowed, 1, nowMs + mailLeaseMs)
  return allowed.map((due) => ({ ...due, attempt: due.attempt + 1 }))
}

async function attempt({ pool, clock, mailer }: MailWorker, due: DueConfirmation, claimedMs: number): Promise<void> {
  const { organizationId, organizationName, address, baseUrl: pageUrl } = due
  const link = await issueAddressLink(pool, { organizationId, address, pageUrl, days: linkDays })
  const content = confirmationText({ organizationName, link, days: linkDays })
  const outcome = await mailer.send({ id: newId(), to: address, ...content })
  if (!outcome.sent) await releaseQuota(pool, organizationId, claimedMs)
  const delayMs = outcome.sent || outcome.permanent ? undefined : mailRetryDelaysMs[due.attempt - 1]
  // A request of the meantime began with the first attempt again, and stays.
  await pool.query(
    `UPDATE alert_address SET next_attempt_at = $4, sent_at = coalesce($5, sent_at)
     WHERE organization_id = $1 AND address = $2 AND attempt = $3 AND next_attempt_at IS NOT NULL`,
    [
      organizationId,
      address,
      due.attempt,
      delayMs === undefined ? null : new Date(clock() + delayMs),
      outcome.sent ? new Date(clock()) : null,
    ],
  )
}
