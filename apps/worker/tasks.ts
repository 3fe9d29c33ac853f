import { type ChatWorker, sendChatMessages } from '#alerts/chat/deliver'
import { evaluateDataUse } from '#alerts/data-use/evaluate'
import { measureDataUse } from '#alerts/data-use/measure'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { evaluateStored } from '#alerts/evaluation/stored'
import { evaluateTelemetry } from '#alerts/evaluation/telemetry'
import { sendConfirmations } from '#alerts/mail/confirm'
import { sendMails } from '#alerts/mail/deliver'
import { sendTestMails } from '#alerts/mail/test-messages'
import { evaluateMoments } from '#alerts/moments/evaluate'
import { pruneAlerts } from '#alerts/retention'
import type { FairRounds } from '#core/fair-rounds'
import type { SystemContext } from '#fleet/context'
import { type Erasure, eraseNightly } from '#fleet/devices/erasure'
import { sweepOffline } from '#fleet/devices/reported/offline'
import { reconcileOffers, resetOffers } from '#fleet/jobs/queue-offers'
import { endMissedDeadlines, expireJobs } from '#fleet/jobs/sweeps'
import { deleteExpired } from '#fleet/retention'
import { pruneWebhooks } from '#fleet/webhooks/delivery'
import type { WebhookRounds } from '#fleet/webhooks/rounds'
import { reportMailServer } from '#messages/mail-server'
import type { MailWorker } from '#messages/mail-worker'
import { sendInvitations, sendSignInMails } from '#people/send-mails'
import type { QuestdbRows } from '#questdb/server/sql'
import type { QueueBackend } from '#queue/backend'
import type { PeriodicTask } from './periodic.ts'

type Parts = {
  system: SystemContext
  backend: QueueBackend
  webhooks: WebhookRounds
  alerts: AlertSystem
  /** The copies of QuestDB, in the order in which alerts prefer them. */
  copies: readonly QuestdbRows[]
  /** Undefined without a mail server. */
  mail: MailWorker | undefined
  chat: ChatWorker
  erasure: Erasure
  erasureHourUtc: number
  /** Returns the number of compared radios. */
  compareRadios: () => Promise<number>
}

const minuteMs = 60_000

/** All periodic tasks of the worker. */
export const periodicTasks = ({
  system,
  backend,
  webhooks,
  alerts,
  copies,
  mail,
  chat,
  erasure,
  erasureHourUtc,
  compareRadios,
}: Parts): PeriodicTask[] => [
  { name: 'expire_jobs', everyMs: 1_000, run: (rounds) => expireJobs(system, rounds) },
  { name: 'end_overdue_jobs', everyMs: 5_000, run: (rounds) => endMissedDeadlines(system, rounds) },
  { name: 'refill_queues', everyMs: 2_000, run: (rounds) => refillEmptiedQueues(system, backend, rounds) },
  { name: 'reconcile_jobs', everyMs: 30_000, run: (rounds) => reconcileOffers(system, rounds) },
  {
    name: 'sweep_offline_devices',
    everyMs: 10_000,
    run: async (rounds) => (await sweepOffline(system, { rounds })).length,
  },
  { name: 'evaluate_alerts', everyMs: 10_000, run: (rounds) => evaluateStored(alerts, rounds) },
  { name: 'evaluate_telemetry_alerts', everyMs: 10_000, run: (rounds) => evaluateTelemetry(alerts, copies, rounds) },
  { name: 'evaluate_moment_alerts', everyMs: minuteMs, run: (rounds) => evaluateMoments(alerts, copies, rounds) },
  // The first measurement of a day is due at once. Between two, a round is one short query.
  { name: 'measure_data_use', everyMs: 15_000, run: () => measureDataUse(alerts, copies) },
  { name: 'evaluate_data_use_alerts', everyMs: minuteMs, run: (rounds) => evaluateDataUse(alerts, copies, rounds) },
  { name: 'compare_radios', everyMs: 5_000, run: compareRadios },
  ...(mail ? mailTasks(mail) : []),
  { name: 'send_chat_messages', everyMs: 1_000, run: (rounds) => sendChatMessages(chat, rounds) },
  { name: 'prune_alerts', everyMs: 60 * minuteMs, run: () => pruneAlerts(alerts) },
  { name: 'delete_expired', everyMs: 10 * minuteMs, run: () => deleteExpired(system) },
  { name: 'deliver_webhooks', everyMs: 500, run: () => deliverAllWebhooks(webhooks) },
  { name: 'prune_webhooks', everyMs: 60 * minuteMs, run: () => pruneWebhooks(system) },
  {
    name: 'erase_deleted_devices',
    everyMs: 5 * minuteMs,
    run: (rounds) => eraseNightly(erasure, { hourUtc: erasureHourUtc }, rounds),
  },
]

const mailTasks = (mail: MailWorker): PeriodicTask[] => [
  { name: 'send_alert_mail', everyMs: 2_000, run: (rounds) => sendMails(mail, rounds) },
  { name: 'send_alert_confirmations', everyMs: 2_000, run: () => sendConfirmations(mail) },
  { name: 'send_test_mail', everyMs: 1_000, run: () => sendTestMails(mail) },
  { name: 'send_invitations', everyMs: 2_000, run: (rounds) => sendInvitations(mail, rounds) },
  { name: 'send_sign_in_links', everyMs: 1_000, run: (rounds) => sendSignInMails(mail, rounds) },
  { name: 'report_mail_server', everyMs: minuteMs, run: () => reportMailServer(mail.pool) },
]

/** Offers all jobs again when the store of the queues has lost its data. */
async function refillEmptiedQueues(system: SystemContext, backend: QueueBackend, rounds: FairRounds): Promise<number> {
  if (!(await backend.wasEmptied())) return 0
  await backend.mark()
  return resetOffers(system, rounds)
}

const maxRounds = 20

/** Runs rounds while there is something to send, at most 20, so that a stop does not wait for a backlog. */
async function deliverAllWebhooks(webhooks: WebhookRounds): Promise<number> {
  let sent = 0
  for (let round = 0; round < maxRounds; round++) {
    const done = await webhooks.next()
    if (done === 0) break
    sent += done
  }
  return sent
}
