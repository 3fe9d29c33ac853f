import { measureDataUse } from '#alerts/data-use/measure'
import {
  type AlertSystem,
  endAlerts,
  evaluateSlice,
  openAlerts,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import { evaluateInTurns, isSmall, slicesOf } from '#alerts/evaluation/shares'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import type { QuestdbSql } from '#questdb/server/sql'

const utcNow = `now() AT TIME ZONE 'UTC'`
const bytes = `CASE r.period WHEN 'day' THEN used.day_bytes ELSE used.month_bytes END`

const dataUse: SqlCondition & SqlEnd = {
  kinds: ['data_use'],
  join: `LEFT JOIN (
      SELECT organization_id, device_id, sum(bytes) AS month_bytes,
        sum(bytes) FILTER (WHERE day >= (${utcNow})::date) AS day_bytes
      FROM device_data_use WHERE organization_id = ANY ($organizationIds::uuid[]) AND day >= date_trunc('month', ${utcNow})::date GROUP BY organization_id, device_id
    ) used ON used.organization_id = r.organization_id AND used.device_id = d.id`,
  holds: `${bytes} > r.threshold * 1e6`,
  since: `date_trunc(r.period, ${utcNow}) AT TIME ZONE 'UTC'`,
  measured: `jsonb_build_object('megabytes', round((${bytes} / 1e6)::numeric, 1))`,
  ended: `coalesce(${bytes}, 0) <= r.threshold * 1e6`,
}

type DataUseRules = { organizationId: string; ruleIds: string[]; devices: number }

/**
 * Measures data use where that is due, and evaluates the rules about it, in turns of organizations. Small organizations share a
 * turn. An alert ends with the UTC day or month. Returns the number of changed alerts.
 */
export async function evaluateDataUse(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await system.pool.query<DataUseRules>(
    `SELECT r.organization_id AS "organizationId", array_agg(r.id) AS "ruleIds", coalesce(max(used.device_count), 0) AS devices
     FROM alert_rule r LEFT JOIN organization_usage used ON used.organization_id = r.organization_id
     WHERE r.enabled AND r.kind = 'data_use' GROUP BY r.organization_id ORDER BY r.organization_id`,
  )
  const measure = async (some: readonly DataUseRules[]) => {
    await measureDataUse(
      system,
      copies,
      some.map(({ organizationId }) => organizationId),
    )
    return { changes: 0, hasMore: false }
  }
  const evaluate = (some: readonly DataUseRules[]) => {
    const organizationIds = some.map(({ organizationId }) => organizationId)
    const slice = { organizationIds, ruleIds: some.flatMap(({ ruleIds }) => ruleIds) }
    return evaluateSlice(system, 'telemetry', slice, [
      (connection, held) => endAlerts(connection, held, dataUse),
      (connection, held) => openAlerts(connection, system, held, dataUse),
    ])
  }
  const rulesOf = ({ ruleIds }: DataUseRules) => ruleIds.length
  return evaluateInTurns(rounds, {
    units: rows,
    isSharing: (own) => own.every((rules) => isSmall(rulesOf(rules), rules.devices)),
    alone: (own) => [
      () => measure(own),
      ...own.flatMap((rules) =>
        slicesOf(rules.ruleIds, rules.devices).map((ruleIds) => () => evaluate([{ ...rules, ruleIds }])),
      ),
    ],
    together: [measure, evaluate],
    rulesOf,
  })
}
