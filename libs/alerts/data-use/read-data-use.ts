import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'

const hourMs = 3_600_000

/**
 * The bytes that devices received and sent on a UTC day (`YYYY-MM-DD`) under each organization, from the counters of their
 * `connection` samples. A counter that is lower than before has started again from 0. What a device used before the first
 * sample of the day counts if it sent a sample in the hour before.
 */
export async function readDataUse(
  questdb: QuestdbSql,
  day: string,
  organizationIds: readonly string[],
): Promise<{ organizationId: string; deviceId: string; bytes: number }[]> {
  const startMs = Date.parse(`${day}T00:00:00Z`)
  // Ids come from columns of type uuid. There can be more of them than a statement can bind.
  const organizations = organizationIds.map((id) => `'${id}'`).join(', ')
  const rows = await questdb.queryArrays<[string, string, number | null]>(
    `WITH counted AS (
       SELECT ts, org_id, device_id, coalesce(rx_bytes, 0.0) + coalesce(tx_bytes, 0.0) total FROM connection
       WHERE ts >= $1 AND ts < $2 AND (rx_bytes IS NOT NULL OR tx_bytes IS NOT NULL) AND org_id IN (${organizations})
     ), spans AS (
       SELECT ts, org_id, device_id, first(total) first_total, max(total) max_total, last(total) last_total
       FROM counted SAMPLE BY 15m
     ), followed AS (
       SELECT ts, org_id, device_id, first_total, max_total, last_total,
         lag(last_total) OVER (PARTITION BY org_id, device_id ORDER BY ts) before_total
       FROM spans
     )
     SELECT org_id, device_id, sum(
         CASE WHEN before_total IS NULL THEN 0.0
              WHEN first_total >= before_total THEN first_total - before_total ELSE first_total END
         + CASE WHEN last_total >= max_total THEN last_total - first_total ELSE max_total - first_total + last_total END
       ) used
     FROM followed WHERE ts >= $3`,
    [timestampParameter(startMs - hourMs), timestampParameter(startMs + 24 * hourMs), timestampParameter(startMs)],
  )
  return rows.map(([organizationId, deviceId, bytes]) => ({ organizationId, deviceId, bytes: bytes ?? 0 }))
}
