import { countedBeforeMs, lastOf, usedSince } from '#questdb/device/data-use'
import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'

const dayMs = 86_400_000

/**
 * The bytes that devices received and sent on a UTC day (`YYYY-MM-DD`) under each organization, from the counters of their
 * `connection` samples. Each direction of each modem and interface is a counter of its own, compared with its own last value.
 * What a device used before the first sample of the day counts if it sent a sample in the hour before. A device that sent no counter on
 * the day is missing.
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
       SELECT ts, org_id, device_id, rx_bytes, tx_bytes, ${lastOf('rx_bytes')} last_rx, ${lastOf('tx_bytes')} last_tx
       FROM connection WHERE ts >= $1 AND ts < $2 AND org_id IN (${organizations})
     )
     SELECT org_id, device_id, sum(${usedSince('rx_bytes', 'last_rx')} + ${usedSince('tx_bytes', 'last_tx')}) used
     FROM counted WHERE ts >= $3 AND (rx_bytes IS NOT NULL OR tx_bytes IS NOT NULL)`,
    [timestampParameter(startMs - countedBeforeMs), timestampParameter(startMs + dayMs), timestampParameter(startMs)],
  )
  return rows.map(([organizationId, deviceId, bytes]) => ({ organizationId, deviceId, bytes: bytes ?? 0 }))
}
