import type { FairRounds } from '#core/fair-rounds'
import { pageAddress } from '#core/page-address'
import type { RoleName } from '#fleet/access/scopes'
import { issueSignInLink } from '#fleet/access/sign-in-links'
import { type MailWorker, mailLeaseMs, mailRetryDelaysMs } from '#messages/mail-worker'
import { nextQuotaMs, releaseQuota, withinQuota } from '#messages/quota'
import { messagesPerTurn, postponeMessages, sendInTurns, storeFailure, storeSent } from '#messages/turns'
import { invitationDays } from '#people/invitation'
import { issueInvitationLink } from '#people/invitation-links'
import { invitationText, signInText } from '#people/messages'
import type { Connection } from '#postgres/pool'

type DueMessage = { id: string; organizationId: string; plan: string; email: string; pageUrl: string; attempt: number }

type DueInvitation = DueMessage & { role: RoleName; organizationName: string; invitedByName: string | null }

/**
 * Sends the invitations that are due, at most 20, within the daily quotas of their organizations, which take turns. Several
 * workers may run it. Each attempt has a link of its own. Returns how many attempts were made.
 */
export const sendInvitations = (worker: MailWorker, rounds?: FairRounds): Promise<number> =>
  sendInTurns(
    worker,
    {
      table: 'invitation',
      claim: async (connection, organizationId) => {
        const nowMs = worker.clock()
        const { rows } = await connection.query<DueInvitation>(
          `SELECT i.id, i.organization_id AS "organizationId", o.plan, o.name AS "organizationName", i.email, i.role,
             i.invited_by_name AS "invitedByName", i.base_url AS "pageUrl", i.attempt
           FROM invitation i JOIN organization o ON o.id = i.organization_id
           WHERE i.organization_id = $1 AND i.sent_at IS NULL AND i.failed_at IS NULL AND i.base_url IS NOT NULL
             AND i.next_attempt_at <= $2
           ORDER BY i.next_attempt_at LIMIT ${messagesPerTurn} FOR UPDATE OF i SKIP LOCKED`,
          [organizationId, new Date(nowMs)],
        )
        const { allowed, late } = await withinQuota(connection, { plans: worker.plans, nowMs }, rows)
        await postponeMessages(connection, 'invitation', late, { attempts: 0, untilMs: nextQuotaMs(nowMs) })
        return lease(connection, 'invitation', { due: allowed, nowMs, hasMore: rows.length === messagesPerTurn })
      },
      attempt: (invitation) => attemptInvitation(worker, invitation),
    },
    rounds,
  )

async function attemptInvitation(worker: MailWorker, invitation: DueInvitation): Promise<void> {
  const claimedMs = worker.clock()
  const { id, organizationId, pageUrl } = invitation
  const link = await issueInvitationLink(worker.pool, { invitationId: id, pageUrl, isMailed: true })
  const content = invitationText({ ...invitation, link, days: invitationDays })
  const isSent = await attempt(worker, 'invitation', { message: invitation, content, delaysMs: mailRetryDelaysMs })
  if (!isSent) await releaseQuota(worker.pool, organizationId, claimedMs)
}

const signInLinkMinutes = 30

/** A person waits for the link, so a message is given up early. */
const signInDelaysMs = [10_000, 30_000, 60_000, 120_000]

/** Sends the sign-in links that people asked for, at most 20; organizations take turns. Returns how many attempts were made. */
export const sendSignInMails = (worker: MailWorker, rounds?: FairRounds): Promise<number> =>
  sendInTurns(
    worker,
    {
      table: 'sign_in_mail',
      claim: async (connection, organizationId) => {
        const nowMs = worker.clock()
        const { rows } = await connection.query<DueMessage>(
          `SELECT id, organization_id AS "organizationId", '' AS plan, email, base_url AS "pageUrl", attempt
           FROM sign_in_mail
           WHERE organization_id = $1 AND sent_at IS NULL AND failed_at IS NULL AND next_attempt_at <= $2
           ORDER BY next_attempt_at LIMIT ${messagesPerTurn} FOR UPDATE SKIP LOCKED`,
          [organizationId, new Date(nowMs)],
        )
        return lease(connection, 'sign_in_mail', { due: rows, nowMs, hasMore: rows.length === messagesPerTurn })
      },
      attempt: async (message) => {
        const { token } = await issueSignInLink(worker.pool, { email: message.email }, signInLinkMinutes)
        // `by=mail`: the page asks before it uses the link, because mail scanners open links.
        const link = pageAddress(message.pageUrl, `sign-in?by=mail&link=${token}`)
        const content = signInText({ link, minutes: signInLinkMinutes })
        await attempt(worker, 'sign_in_mail', { message, content, delaysMs: signInDelaysMs })
      },
    },
    rounds,
  )

type PersonTable = 'invitation' | 'sign_in_mail'

/** Counts an attempt of each message, which is due again if this worker dies. */
async function lease<Message extends DueMessage>(
  connection: Connection,
  table: PersonTable,
  { due, nowMs, hasMore }: { due: readonly Message[]; nowMs: number; hasMore: boolean },
): Promise<{ due: Message[]; hasMore: boolean }> {
  await postponeMessages(connection, table, due, { attempts: 1, untilMs: nowMs + mailLeaseMs })
  return { due: due.map((message) => ({ ...message, attempt: message.attempt + 1 })), hasMore }
}

type Attempt = {
  message: DueMessage
  content: { subject: string; text: string }
  /** After each failed attempt. After the last one, the message is given up. */
  delaysMs: readonly number[]
}

/** Sends a message and stores the outcome. Returns whether it was sent. */
async function attempt(
  worker: MailWorker,
  table: PersonTable,
  { message, content, delaysMs }: Attempt,
): Promise<boolean> {
  const outcome = await worker.mailer.send({ id: message.id, to: message.email, ...content })
  if (outcome.sent) await storeSent(worker, table, message.id)
  else {
    const delayMs = outcome.permanent ? undefined : delaysMs[message.attempt - 1]
    await storeFailure(worker, table, { id: message.id, reason: outcome.reason, delayMs })
  }
  return outcome.sent
}
