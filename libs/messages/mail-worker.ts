import type { Clock } from '#core/clock'
import type { Plans } from '#fleet/organizations/plans'
import type { Mailer } from '#messages/mailer'
import type { Pool } from '#postgres/pool'

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

/** Longer than an attempt can take. A message whose worker died is due again after this time. */
export const mailLeaseMs = 5 * minuteMs
