import { measureDataUse } from '#alerts/data-use/measure'
import {
  type AlertSystem,
  endAlerts,
  evaluateSlice,
  openAlerts,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import { slicesOf } from '#alerts/evaluation/shares'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import type { QuestdbSql } from '#questdb/sql'

const utcNow = `now() AT TIME ZONE 'UTC'`
const bytes = `CASE r.period WHEN 'day' THEN used.day_bytes ELSE used.month_bytes END`

const dataUse: SqlCondition & SqlEnd = {
  kinds: ['data_use'],
  join: `LEFT JOIN (
      SELECT organization_id, device_id, sum(bytes) AS month_bytes,
        sum(bytes) FILTER (WHERE day >= (${utcNow})::date) AS day_bytes
      FROM device_data_use WHERE organization_id = ANY ($2::uuid[]) AND day >= date_trunc('month', ${utcNow})::date GROUP BY organization_id, device_id
    ) used ON used.organization_id = r.organization_id AND used.device_id = d.id`,
  holds: `${bytes} > r.threshold * 1e6`,
  since: `date_trunc(r.period, ${utcNow}) AT TIME ZONE 'UTC'`,
  measured: `jsonb_build_object('megabytes', round((${bytes} / 1e6)::numeric, 1))`,
  ended: `coalesce(${bytes}, 0) <= r.threshold * 1e6`,
}

/**
 * Measures data use where that is due, and evaluates the rules about it, organization by organization. An alert ends with the
 * UTC day or month. Returns the number of changed alerts.
 */
export async function evaluateDataUse(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await system.pool.query<{ id: string; rule_ids: string[]; devices: number | null }>(
    `SELECT r.organization_id AS id, array_agg(r.id) AS rule_ids, max(used.device_count) AS devices
     FROM alert_rule r LEFT JOIN organization_usage used ON used.organization_id = r.organization_id
     WHERE r.enabled AND r.kind = 'data_use' GROUP BY r.organization_id`,
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return rounds.run({
    owners: [...byId.keys()],
    workOf: (organizationId) => {
      const { rule_ids, devices } = byId.get(organizationId) ?? { rule_ids: [], devices: 0 }
      return [
        () => measureDataUse(system, copies, organizationId),
        ...slicesOf(rule_ids, devices ?? 0).map((ruleIds) => () => {
          const slice = { organizationIds: [organizationId], ruleIds }
          return evaluateSlice(system, 'telemetry', slice, [
            (connection, held) => endAlerts(connection, system, held, dataUse),
            (connection, held) => openAlerts(connection, system, held, dataUse),
          ])
        }),
      ]
    },
  })
}
