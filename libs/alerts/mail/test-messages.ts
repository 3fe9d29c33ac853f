import { testMailText } from '#alerts/mail/message'
import { newId } from '#core/ids'
import { systemTransaction } from '#fleet/tenant'
import { type MailWorker, mailLeaseMs } from '#messages/mail-worker'
import { releaseQuota, withinQuota } from '#messages/quota'
import type { Connection } from '#postgres/pool'

const messagesPerRound = 20

type DueTest = { organizationId: string; organizationName: string; plan: string; address: string }

/**
 * Sends the test messages that were requested, at most 20, once each, and stores their results. Several workers may run it; a test
 * whose worker died is due again after five minutes. Returns how many attempts were made.
 */
export async function sendTestMails(worker: MailWorker): Promise<number> {
  const nowMs = worker.clock()
  const { allowed, late } = await systemTransaction(worker, (connection) => claimDue(connection, worker, nowMs))
  await Promise.all([
    ...allowed.map((due) => attempt(worker, due, nowMs)),
    ...late.map((due) => store(worker, due, 'the quota of messages of this day is used up')),
  ])
  return allowed.length + late.length
}

async function claimDue(connection: Connection, { plans }: MailWorker, nowMs: number) {
  const { rows } = await connection.query<DueTest>(
    `UPDATE alert_address a SET test_due_at = now() + make_interval(secs => ${mailLeaseMs / 1_000})
     FROM organization o
     WHERE o.id = a.organization_id AND (a.organization_id, a.address) IN (
       SELECT organization_id, address FROM alert_address
       WHERE test_due_at <= now() AND state = 'confirmed' ORDER BY test_due_at LIMIT ${messagesPerRound} FOR UPDATE SKIP LOCKED)
     RETURNING a.organization_id AS "organizationId", a.address, o.name AS "organizationName", o.plan`,
  )
  return withinQuota(connection, { plans, nowMs }, rows)
}

async function attempt(worker: MailWorker, due: DueTest, claimedMs: number): Promise<void> {
  const outcome = await worker.mailer.send({ id: newId(), to: due.address, ...testMailText(due.organizationName) })
  if (!outcome.sent) await releaseQuota(worker.pool, due.organizationId, claimedMs)
  await store(worker, due, outcome.sent ? null : outcome.reason)
}

async function store({ pool }: MailWorker, { organizationId, address }: DueTest, error: string | null): Promise<void> {
  await pool.query(
    `UPDATE alert_address SET test_due_at = NULL, test_ended_at = now(), test_error = $3
     WHERE organization_id = $1 AND address = $2`,
    [organizationId, address, error],
  )
}
