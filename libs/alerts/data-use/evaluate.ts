import { measureDataUse } from '#alerts/data-use/measure'
import {
  type AlertSystem,
  endAlerts,
  evaluateSlice,
  openAlerts,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import { isSmall, shared, sharedPiece, slicesOf } from '#alerts/evaluation/shares'
import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'
import type { QuestdbSql } from '#questdb/server/sql'

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

type DataUseRules = { organization_id: string; rule_ids: string[]; devices: number | null }

const organizationOf = ({ organization_id }: DataUseRules): string => organization_id

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
    `SELECT r.organization_id, array_agg(r.id) AS rule_ids, max(used.device_count) AS devices
     FROM alert_rule r LEFT JOIN organization_usage used ON used.organization_id = r.organization_id
     WHERE r.enabled AND r.kind = 'data_use' GROUP BY r.organization_id ORDER BY r.organization_id`,
  )
  const measure = async (some: readonly DataUseRules[]) => {
    await measureDataUse(system, copies, some.map(organizationOf))
    return { changes: 0, hasMore: false }
  }
  const evaluate = (organizationIds: readonly string[], ruleIds: readonly string[]) =>
    evaluateSlice(system, 'telemetry', { organizationIds, ruleIds }, [
      (connection, slice) => endAlerts(connection, system, slice, dataUse),
      (connection, slice) => openAlerts(connection, system, slice, dataUse),
    ])
  const isSharing = ({ rule_ids, devices }: DataUseRules) => isSmall(rule_ids.length, devices ?? 0)
  const work = new Map<string, Piece[]>()
  for (const rules of rows.filter((row) => !isSharing(row))) {
    const slices = slicesOf(rules.rule_ids, rules.devices ?? 0)
    work.set(organizationOf(rules), [
      () => measure([rules]),
      ...slices.map((ruleIds) => () => evaluate([organizationOf(rules)], ruleIds)),
    ])
  }
  const groups = shared(rows.filter(isSharing), ({ rule_ids, devices }) => rule_ids.length * (devices ?? 0))
  for (const [index, group] of groups.entries()) {
    const evaluateSome = (some: readonly DataUseRules[]) =>
      evaluate(
        some.map(organizationOf),
        some.flatMap(({ rule_ids }) => rule_ids),
      )
    work.set(`small organizations ${index + 1}`, [
      sharedPiece(group, organizationOf, measure, rounds),
      sharedPiece(group, organizationOf, evaluateSome, rounds),
    ])
  }
  return rounds.run({ owners: [...work.keys()], workOf: (owner) => work.get(owner) ?? [] })
}
