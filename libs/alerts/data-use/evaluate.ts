import { measureDataUse } from '#alerts/data-use/measure'
import {
  type AlertSystem,
  endAlerts,
  openAlerts,
  runStep,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import type { QuestdbSql } from '#questdb/sql'

const utcNow = `now() AT TIME ZONE 'UTC'`
const bytes = `CASE r.period WHEN 'day' THEN used.day_bytes ELSE used.month_bytes END`

const dataUse: SqlCondition & SqlEnd = {
  kinds: ['data_use'],
  join: `LEFT JOIN (
      SELECT organization_id, device_id, sum(bytes) AS month_bytes,
        sum(bytes) FILTER (WHERE day >= (${utcNow})::date) AS day_bytes
      FROM device_data_use WHERE day >= date_trunc('month', ${utcNow})::date GROUP BY organization_id, device_id
    ) used ON used.organization_id = r.organization_id AND used.device_id = d.id`,
  holds: `${bytes} > r.threshold * 1e6`,
  since: `date_trunc(r.period, ${utcNow}) AT TIME ZONE 'UTC'`,
  measured: `jsonb_build_object('megabytes', round((${bytes} / 1e6)::numeric, 1))`,
  ended: `coalesce(${bytes}, 0) <= r.threshold * 1e6`,
}

/**
 * Measures data use where that is due, and evaluates the rules about it for all organizations. An alert ends with the UTC day
 * or month. Returns the number of changed alerts.
 */
export async function evaluateDataUse(system: AlertSystem, copies: readonly QuestdbSql[]): Promise<number> {
  const { rowCount } = await system.pool.query("SELECT FROM alert_rule WHERE kind = 'data_use' LIMIT 1")
  if (!rowCount) return 0
  await measureDataUse(system, copies)
  const ended = await runStep(system, 'telemetry', (connection) => endAlerts(connection, system, dataUse))
  const opened = await runStep(system, 'telemetry', (connection) => openAlerts(connection, system, dataUse))
  return ended + opened
}
