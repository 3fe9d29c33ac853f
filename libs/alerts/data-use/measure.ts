import { readDataUse } from '#alerts/data-use/read-data-use'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { tryInOrder } from '#alerts/evaluation/try-in-order'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Pool } from '#postgres/pool'
import type { QuestdbSql } from '#questdb/sql'

/** When another worker may measure a claimed day, in SQL. Longer than reading it from all copies takes, unless the worker died. */
const claimLasts = "interval '5 minutes'"

/**
 * Measures what the devices of an organization with rules about data use have used on the newest UTC day that is due: the
 * present day every 10 minutes, a past day of the month until it has been over for six hours. Late samples of earlier days do not
 * count. Several workers may run it: each claims a day, reads QuestDB without an open transaction, and stores the result if it still
 * has the claim. `changes` counts the rows; `hasMore`: another day may be due.
 */
export async function measureDataUse(
  { pool }: AlertSystem,
  copies: readonly QuestdbSql[],
  organizationId: string,
): Promise<{ changes: number; hasMore: boolean }> {
  const claim = await claimDueDay(pool, organizationId)
  if (!claim) return { changes: 0, hasMore: false }
  try {
    const used = await tryInOrder(copies, (questdb) => readDataUse(questdb, claim.day, [organizationId]))
    const changes = await systemTransaction({ pool }, (connection) => storeDay(connection, claim, used))
    return { changes, hasMore: true }
  } catch (error) {
    await releaseClaim(pool, claim).catch(() => {})
    throw error
  }
}

/** A day of an organization that this worker measures. `claimed_at` is text, because a Date has no microseconds. */
type Claim = { organization_id: string; day: string; claimed_at: string }

/** Claims the newest day that is due and that no other worker has claimed. */
async function claimDueDay(pool: Pool, organizationId: string): Promise<Claim | undefined> {
  const { rows } = await pool.query<Claim>(
    `WITH needed AS (
       SELECT organization_id, bool_or(period = 'month') AS monthly FROM alert_rule
       WHERE organization_id = $1 AND enabled AND kind = 'data_use' GROUP BY organization_id
     ), today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day)
     INSERT INTO data_use_day AS known (organization_id, day, claimed_at)
     SELECT needed.organization_id, wanted.day, now()
     FROM needed CROSS JOIN today CROSS JOIN LATERAL (
       SELECT series::date AS day
       FROM generate_series(CASE WHEN monthly THEN date_trunc('month', today.day) ELSE today.day END, today.day, '1 day') series
     ) wanted
     LEFT JOIN data_use_day measured ON measured.organization_id = needed.organization_id AND measured.day = wanted.day
     WHERE (measured.measured_at IS NULL
         OR measured.measured_at < now() - interval '10 minutes'
            AND measured.measured_at AT TIME ZONE 'UTC' < wanted.day + interval '30 hours')
       AND (measured.claimed_at IS NULL OR measured.claimed_at < now() - ${claimLasts})
     ORDER BY wanted.day DESC LIMIT 1
     ON CONFLICT (organization_id, day) DO UPDATE SET claimed_at = excluded.claimed_at
       WHERE known.claimed_at IS NULL OR known.claimed_at < now() - ${claimLasts}
     RETURNING organization_id, to_char(day, 'YYYY-MM-DD') AS day, claimed_at::text AS claimed_at`,
    [organizationId],
  )
  return rows[0]
}

const claimedSql = 'organization_id = $1 AND day = $2::date AND claimed_at = $3::timestamptz'
const claimedValues = ({ organization_id, day, claimed_at }: Claim) => [organization_id, day, claimed_at]

const releaseClaim = (pool: Pool, claim: Claim) =>
  pool.query(`UPDATE data_use_day SET claimed_at = NULL WHERE ${claimedSql}`, claimedValues(claim))

type Used = { organizationId: string; deviceId: string; bytes: number }

/** Stores what was measured at the time of the claim, unless another worker has claimed the day since. */
async function storeDay(connection: Connection, claim: Claim, used: readonly Used[]): Promise<number> {
  const { rowCount } = await connection.query(
    `UPDATE data_use_day SET measured_at = claimed_at, claimed_at = NULL WHERE ${claimedSql}`,
    claimedValues(claim),
  )
  if (rowCount === 0) return 0
  await connection.query(
    `INSERT INTO device_data_use AS known (organization_id, device_id, day, bytes)
     SELECT $2::uuid, device_id, $1::date, bytes FROM unnest($3::uuid[], $4::float8[]) AS used (device_id, bytes)
     WHERE EXISTS (SELECT FROM device WHERE device.id = used.device_id)
     ON CONFLICT (organization_id, device_id, day) DO UPDATE SET bytes = excluded.bytes WHERE known.bytes <> excluded.bytes`,
    [claim.day, claim.organization_id, used.map(({ deviceId }) => deviceId), used.map(({ bytes }) => bytes)],
  )
  return used.length
}
