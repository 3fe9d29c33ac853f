import { readDataUse } from '#alerts/data-use/read-data-use'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { tryInOrder } from '#core/try-in-order'
import { latecomers } from '#fleet/devices/ownership'
import { systemTransaction } from '#fleet/tenant'
import type { Connection, Pool } from '#postgres/pool'
import { countedBeforeMs } from '#questdb/device/data-use'
import type { QuestdbSql } from '#questdb/server/sql'

// Arbitrary: one worker at a time claims days.
const lock = 7_264_115_042
const daysPerRun = 10
/** A busy server must finish a statement within its time limit. */
const rowsPerStatement = 10_000
/** When another worker may measure a claimed day, in SQL. Longer than reading it from all copies takes, unless the worker died. */
const claimLasts = "interval '5 minutes'"
/**
 * When a day is measured again, in SQL: a minute after the first time, after twice as long each time then, and every 10 minutes. A
 * measurement before the first reports have been stored has nothing to show.
 */
const measuredAgainAfter = `least(interval '10 minutes',
  greatest(interval '1 minute', coalesce(known.measured_at - known.first_measured_at, interval '10 minutes')))`
/** Reading a day again takes at most this share of the time. */
const readingShare = 0.05

/**
 * Measures what devices have used, by UTC day: the present day every 10 minutes, and in its first minutes more often; a past day of the
 * month until it has been over for six hours. Late samples of earlier days do not count. A day that takes long to read is measured less
 * often. Several workers may run it: each claims a day, reads QuestDB without an open transaction, and stores what it still has claimed.
 * `organizationIds`: only of these organizations. Returns how many rows were stored.
 */
export async function measureDataUse(
  { pool }: AlertSystem,
  copies: readonly QuestdbSql[],
  organizationIds?: readonly string[],
): Promise<number> {
  let stored = 0
  for (let days = 0; days < daysPerRun; days += 1) {
    const claim = await systemTransaction({ pool }, (connection) => claimDueDay(connection, organizationIds))
    if (!claim) break
    try {
      const startedMs = performance.now()
      const late = await latecomers(pool, claim.organization_ids, Date.parse(claim.day) - countedBeforeMs)
      const owners = { organizationIds: claim.organization_ids, late }
      const used = await tryInOrder(copies, (questdb) => readDataUse(questdb, claim.day, owners))
      const tookMs = performance.now() - startedMs
      stored += await systemTransaction({ pool }, (connection) => storeDay(connection, claim, used, tookMs))
    } catch (error) {
      await releaseClaim(pool, claim).catch(() => {})
      throw error
    }
  }
  return stored
}

/** A day and the organizations of which this worker measures it. `claimed_at` is text, because a Date has no microseconds. */
type Claim = { day: string; organization_ids: string[]; claimed_at: string }

/** Claims the newest day that is due, for all organizations that need it and have it not claimed. */
async function claimDueDay(
  connection: Connection,
  organizationIds: readonly string[] | undefined,
): Promise<Claim | undefined> {
  await connection.query('SELECT pg_advisory_xact_lock($1)', [lock])
  const { rows } = await connection.query<Claim>(
    `WITH needed AS (
       SELECT id AS organization_id FROM organization
       WHERE ($1::uuid[] IS NULL OR id = ANY ($1::uuid[])) AND EXISTS (SELECT FROM device WHERE device.organization_id = organization.id)
     ), today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day),
     due AS (
       SELECT needed.organization_id, wanted.day
       FROM needed CROSS JOIN today CROSS JOIN LATERAL (
         SELECT series::date AS day
         FROM generate_series(date_trunc('month', today.day), today.day, '1 day') series
       ) wanted
       LEFT JOIN data_use_day known ON known.organization_id = needed.organization_id AND known.day = wanted.day
       WHERE (known.measured_at IS NULL
           OR known.measured_at < now() - greatest(${measuredAgainAfter}, known.took_ms / $2 * interval '1 millisecond')
              AND known.measured_at AT TIME ZONE 'UTC' < wanted.day + interval '30 hours')
         AND (known.claimed_at IS NULL OR known.claimed_at < now() - greatest(${claimLasts}, 3 * known.took_ms * interval '1 millisecond'))
     ), claimed AS (
       INSERT INTO data_use_day (organization_id, day, claimed_at)
       SELECT organization_id, day, now() FROM due WHERE day = (SELECT max(day) FROM due) ORDER BY organization_id
       ON CONFLICT (organization_id, day) DO UPDATE SET claimed_at = excluded.claimed_at
       RETURNING organization_id, day
     )
     SELECT to_char(day, 'YYYY-MM-DD') AS day, array_agg(organization_id) AS organization_ids, now()::text AS claimed_at
     FROM claimed GROUP BY day`,
    [organizationIds ?? null, readingShare],
  )
  return rows[0]
}

const claimedSql = 'day = $1::date AND organization_id = ANY ($2::uuid[]) AND claimed_at = $3::timestamptz'
const claimedValues = ({ day, organization_ids, claimed_at }: Claim) => [day, organization_ids, claimed_at]

const releaseClaim = (pool: Pool, claim: Claim) =>
  pool.query(`UPDATE data_use_day SET claimed_at = NULL WHERE ${claimedSql}`, claimedValues(claim))

type Used = { organizationId: string; deviceId: string; bytes: number }

/** Stores what was measured at the time of the claim, for the organizations that no other worker has claimed since. */
async function storeDay(connection: Connection, claim: Claim, used: readonly Used[], tookMs: number): Promise<number> {
  const { rows } = await connection.query<{ organization_id: string }>(
    `UPDATE data_use_day SET measured_at = claimed_at, first_measured_at = coalesce(first_measured_at, claimed_at),
       claimed_at = NULL, took_ms = $4 WHERE ${claimedSql} RETURNING organization_id`,
    [...claimedValues(claim), tookMs],
  )
  const kept = new Set(rows.map(({ organization_id }) => organization_id))
  const stored = used.filter(({ organizationId }) => kept.has(organizationId))
  for (let first = 0; first < stored.length; first += rowsPerStatement) {
    const some = stored.slice(first, first + rowsPerStatement)
    await connection.query(
      `INSERT INTO device_data_use AS known (organization_id, device_id, day, bytes)
       SELECT organization_id, device_id, $1::date, bytes
       FROM unnest($2::uuid[], $3::uuid[], $4::float8[]) AS used (organization_id, device_id, bytes)
       WHERE EXISTS (SELECT FROM device WHERE device.id = used.device_id)
       ON CONFLICT (organization_id, device_id, day) DO UPDATE SET bytes = excluded.bytes WHERE known.bytes <> excluded.bytes`,
      [
        claim.day,
        some.map(({ organizationId }) => organizationId),
        some.map(({ deviceId }) => deviceId),
        some.map(({ bytes }) => bytes),
      ],
    )
  }
  return stored.length
}
