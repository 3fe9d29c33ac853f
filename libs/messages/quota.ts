import { type Plans, planNamed } from '#fleet/organizations/plans'
import type { Connection, Queryable } from '#postgres/pool'

const dayMs = 86_400_000
const dayOf = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 10)

/** When the quota of the next UTC day begins. */
export const nextQuotaMs = (nowMs: number): number => Math.floor(nowMs / dayMs + 1) * dayMs

/**
 * Counts messages against the daily quotas of their organizations, in the transaction that claims them. Returns those that
 * may be sent today, and those that must wait for the next UTC day.
 */
export async function withinQuota<Mail extends { organizationId: string; plan: string }>(
  connection: Connection,
  { plans, nowMs }: { plans: Plans; nowMs: number },
  mails: readonly Mail[],
): Promise<{ allowed: Mail[]; late: Mail[] }> {
  const [allowed, late]: [Mail[], Mail[]] = [[], []]
  const organizations = [...Map.groupBy(mails, (mail) => mail.organizationId)].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [organizationId, own] of organizations) {
    const quota = planNamed(plans, own[0]?.plan ?? '').alertMailsPerDay
    const granted = await reserve(connection, { organizationId, wanted: own.length, quota, nowMs })
    allowed.push(...own.slice(0, granted))
    late.push(...own.slice(granted))
  }
  return { allowed, late }
}

/** Returns the reservation of a message that was not sent. */
export async function releaseQuota(db: Queryable, organizationId: string, claimedMs: number): Promise<void> {
  await db.query('UPDATE alert_mail_day SET sent = greatest(sent - 1, 0) WHERE organization_id = $1 AND day = $2', [
    organizationId,
    dayOf(claimedMs),
  ])
}

type Reservation = { organizationId: string; wanted: number; quota: number; nowMs: number }

async function reserve(connection: Connection, { organizationId, wanted, quota, nowMs }: Reservation): Promise<number> {
  const place = [organizationId, dayOf(nowMs)]
  await connection.query(
    'INSERT INTO alert_mail_day (organization_id, day, sent) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING',
    place,
  )
  const { rows } = await connection.query<{ sent: number }>(
    'SELECT sent FROM alert_mail_day WHERE organization_id = $1 AND day = $2 FOR UPDATE',
    place,
  )
  const granted = Math.max(0, Math.min(wanted, quota - (rows[0]?.sent ?? 0)))
  await connection.query('UPDATE alert_mail_day SET sent = sent + $3 WHERE organization_id = $1 AND day = $2', [
    ...place,
    granted,
  ])
  return granted
}
