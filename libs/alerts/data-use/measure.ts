import { readDataUse } from '#alerts/data-use/read-data-use'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { tryInOrder } from '#alerts/evaluation/try-in-order'
import { systemTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'
import type { QuestdbSql } from '#questdb/sql'

// Arbitrary: one worker at a time measures.
const lock = 7_264_115_042
const daysPerRun = 10

/**
 * Measures what the devices of organizations with rules about data use have used, by UTC day: the present day every 10 minutes, a
 * past day of the month until it has been over for six hours. Late samples of earlier days do not count. Several workers may
 * run it. Returns how many rows were stored.
 */
export function measureDataUse(system: AlertSystem, copies: readonly QuestdbSql[]): Promise<number> {
  return systemTransaction(system, async (connection) => {
    const { rows } = await connection.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [lock])
    if (!rows[0]?.held) return 0
    let stored = 0
    for (const { day, organization_ids } of await dueDays(connection)) {
      const used = await tryInOrder(copies, (questdb) => readDataUse(questdb, day, organization_ids))
      stored += await storeDay(connection, day, organization_ids, used)
    }
    return stored
  })
}

/** The days to measure, newest first, with the organizations that need them. */
async function dueDays(connection: Connection): Promise<{ day: string; organization_ids: string[] }[]> {
  const { rows } = await connection.query<{ day: string; organization_ids: string[] }>(
    `WITH needed AS (
       SELECT organization_id, bool_or(period = 'month') AS monthly FROM alert_rule
       WHERE enabled AND kind = 'data_use' GROUP BY organization_id
     ), today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day)
     SELECT to_char(wanted.day, 'YYYY-MM-DD') AS day, array_agg(needed.organization_id) AS organization_ids
     FROM needed CROSS JOIN today CROSS JOIN LATERAL (
       SELECT series::date AS day
       FROM generate_series(CASE WHEN monthly THEN date_trunc('month', today.day) ELSE today.day END, today.day, '1 day') series
     ) wanted
     LEFT JOIN data_use_day measured ON measured.organization_id = needed.organization_id AND measured.day = wanted.day
     WHERE measured.measured_at IS NULL
        OR measured.measured_at < now() - interval '10 minutes'
           AND measured.measured_at AT TIME ZONE 'UTC' < wanted.day + interval '30 hours'
     GROUP BY wanted.day ORDER BY wanted.day DESC LIMIT ${daysPerRun}`,
  )
  return rows
}

type Used = { organizationId: string; deviceId: string; bytes: number }

async function storeDay(
  connection: Connection,
  day: string,
  organizationIds: readonly string[],
  used: readonly Used[],
): Promise<number> {
  await connection.query(
    `INSERT INTO device_data_use AS known (organization_id, device_id, day, bytes)
     SELECT organization_id, device_id, $1::date, bytes
     FROM unnest($2::uuid[], $3::uuid[], $4::float8[]) AS used (organization_id, device_id, bytes)
     WHERE EXISTS (SELECT FROM device WHERE device.id = used.device_id)
     ON CONFLICT (organization_id, device_id, day) DO UPDATE SET bytes = excluded.bytes WHERE known.bytes <> excluded.bytes`,
    [
      day,
      used.map(({ organizationId }) => organizationId),
      used.map(({ deviceId }) => deviceId),
      used.map(({ bytes }) => bytes),
    ],
  )
  await connection.query(
    `INSERT INTO data_use_day (organization_id, day, measured_at) SELECT unnest($2::uuid[]), $1::date, now()
     ON CONFLICT (organization_id, day) DO UPDATE SET measured_at = excluded.measured_at`,
    [day, organizationIds],
  )
  return used.length
}
