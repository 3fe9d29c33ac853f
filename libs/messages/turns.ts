import type { Clock } from '#core/clock'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { isWindowOpen, type Window } from '#fleet/jobs/model/schedule'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Pool } from '#postgres/pool'

/** The tables of messages. All have the columns of the queue: attempt, next attempt, sent, failed, last error. */
type MessageTable = 'alert_mail' | 'chat_message' | 'invitation' | 'sign_in_mail'

type MessageWorker = { pool: Pool; clock: Clock }

const messagesPerRound = 20
export const messagesPerTurn = 2
// How often a message looks whether the quiet hours are over.
const quietMs = 60_000

type Queue<Message> = {
  table: MessageTable
  /** Claims the next messages of an organization, at most `messagesPerTurn`. `hasMore`: more may be due. */
  claim(connection: Connection, organizationId: string): Promise<{ due: Message[]; hasMore: boolean }>
  attempt(message: Message): Promise<void>
}

/**
 * Sends the messages of a table that are due, at most 20. Organizations take turns. Several workers may run it. Returns how many
 * attempts were made.
 */
export async function sendInTurns<Message>(
  worker: MessageWorker,
  { table, claim, attempt }: Queue<Message>,
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await worker.pool.query<{ id: string }>(organizationsWithDue(table), [new Date(worker.clock())])
  const attempts: Promise<void>[] = []
  const failures: { error: unknown; organizationId: string }[] = []
  const startSome = async (organizationId: string) => {
    const { due, hasMore } = await systemTransaction(worker, (connection) => claim(connection, organizationId))
    for (const message of due) {
      attempts.push(attempt(message).catch((error) => void failures.push({ error, organizationId })))
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
const organizationsWithDue = (table: MessageTable) => `
  WITH RECURSIVE waiting AS (
    (SELECT organization_id FROM ${table} WHERE sent_at IS NULL AND failed_at IS NULL ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT m.organization_id FROM ${table} m
            WHERE m.sent_at IS NULL AND m.failed_at IS NULL AND m.organization_id > waiting.organization_id
            ORDER BY m.organization_id LIMIT 1)
    FROM waiting WHERE waiting.organization_id IS NOT NULL
  )
  SELECT organization_id AS id FROM waiting
  WHERE organization_id IS NOT NULL AND EXISTS (
    SELECT FROM ${table} due WHERE due.organization_id = waiting.organization_id
      AND due.sent_at IS NULL AND due.failed_at IS NULL AND due.next_attempt_at <= $1)`

/**
 * SQL: when the next message to a place may be sent. `pause` (an interval) after the last message that was sent, and after now
 * if one is being sent or repeated. `isSame` is the condition for a message `earlier` to the same place.
 */
export const nextMessageAtSql = (table: MessageTable, { pause, isSame }: { pause: string; isSame: string }): string =>
  `greatest(now(), (SELECT max(earlier.sent_at) + ${pause} FROM ${table} earlier WHERE ${isSame}),
     (SELECT now() + ${pause} FROM ${table} earlier
      WHERE ${isSame} AND earlier.sent_at IS NULL AND earlier.failed_at IS NULL AND earlier.attempt > 0 LIMIT 1))`

type Postponed = { attempts: number; untilMs: number }

/** Sets when messages are due again, and counts `attempts` more for each. */
export async function postponeMessages(
  connection: Connection,
  table: MessageTable,
  messages: readonly { id: string }[],
  { attempts, untilMs }: Postponed,
): Promise<void> {
  await connection.query(
    `UPDATE ${table} SET attempt = attempt + $2, next_attempt_at = $3 WHERE id = ANY ($1::uuid[])`,
    [messages.map(({ id }) => id), attempts, new Date(untilMs)],
  )
}

/** Postpones the messages whose rule has quiet hours now, and returns the others. */
export async function withoutQuiet<Message extends { id: string; quietHours: Window | null }>(
  connection: Connection,
  table: MessageTable,
  messages: readonly Message[],
  nowMs: number,
): Promise<Message[]> {
  const isQuiet = ({ quietHours }: Message) => quietHours !== null && isWindowOpen(quietHours, nowMs)
  await postponeMessages(connection, table, messages.filter(isQuiet), { attempts: 0, untilMs: nowMs + quietMs })
  return messages.filter((message) => !isQuiet(message))
}

/** Stores that a message was sent. */
export async function storeSent({ pool, clock }: MessageWorker, table: MessageTable, id: string): Promise<void> {
  await pool.query(`UPDATE ${table} SET sent_at = $2, last_error = NULL WHERE id = $1`, [id, new Date(clock())])
}

/** Stores why an attempt failed, and when to try again. Without `delayMs`, the message is given up. */
export async function storeFailure(
  { pool, clock }: MessageWorker,
  table: MessageTable,
  { id, reason, delayMs }: { id: string; reason: string; delayMs: number | undefined },
): Promise<void> {
  await pool.query(`UPDATE ${table} SET next_attempt_at = $2, failed_at = $3, last_error = $4 WHERE id = $1`, [
    id,
    new Date(clock() + (delayMs ?? 0)),
    delayMs === undefined ? new Date(clock()) : null,
    reason,
  ])
}
