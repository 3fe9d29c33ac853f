import { type AlertSystem, endAlerts, openAlerts, runStep } from '#alerts/evaluation/changes'
import { type Limit, readSustained, readWithin } from '#alerts/evaluation/read-telemetry'
import { tryInOrder } from '#alerts/evaluation/try-in-order'
import type { QuestdbSql } from '#questdb/sql'

type RuleGroup = Limit & { organizationIds: string[] }

/**
 * Evaluates the rules about signal and temperature, for all organizations, from the copies of QuestDB in this order: the next
 * one is read if one fails. A device without recent samples keeps its state. Returns the number of changes.
 */
export async function evaluateTelemetry(system: AlertSystem, copies: readonly QuestdbSql[]): Promise<number> {
  let changes = 0
  for (const group of await readRuleGroups(system)) {
    changes += await endWithin(system, copies, group)
    changes += await openSustained(system, copies, group)
  }
  return changes
}

/** Rules of the same kind, threshold and period share their queries. */
async function readRuleGroups({ pool }: AlertSystem): Promise<RuleGroup[]> {
  const { rows } = await pool.query<{
    kind: Limit['kind']
    threshold: number
    for_minutes: number
    organization_ids: string[]
  }>(
    `SELECT r.kind, r.threshold, r.for_minutes, array_agg(DISTINCT r.organization_id) AS organization_ids
     FROM alert_rule r JOIN organization o ON o.id = r.organization_id
     WHERE r.enabled AND r.kind IN ('weak_signal', 'high_temperature')
       AND o.subscription_status NOT IN ('suspended', 'cancelled')
     GROUP BY r.kind, r.threshold, r.for_minutes ORDER BY r.kind, r.threshold, r.for_minutes`,
  )
  return rows.map((row) => ({
    kind: row.kind,
    threshold: row.threshold,
    forMinutes: row.for_minutes,
    organizationIds: row.organization_ids,
  }))
}

const measuredName = { weak_signal: 'rsrpDbm', high_temperature: 'temperatureC' } as const

async function openSustained(system: AlertSystem, copies: readonly QuestdbSql[], group: RuleGroup): Promise<number> {
  const found = await tryInOrder(copies, (questdb) =>
    readSustained(questdb, group, group.organizationIds, system.clock()),
  )
  if (found.length === 0) return 0
  return runStep(system, 'telemetry', (connection) =>
    openAlerts(connection, system, {
      kinds: [group.kind],
      join: `JOIN unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::float8[])
        AS seen (organization_id, device_id, since, value)
        ON seen.organization_id = r.organization_id AND seen.device_id = d.id`,
      holds: 'r.threshold = $6 AND r.for_minutes = $7',
      since: 'seen.since',
      measured: `jsonb_build_object('${measuredName[group.kind]}', seen.value)`,
      values: [
        found.map(({ organizationId }) => organizationId),
        found.map(({ deviceId }) => deviceId),
        found.map(({ sinceMs }) => new Date(sinceMs)),
        found.map(({ value }) => value),
        group.threshold,
        group.forMinutes,
      ],
    }),
  )
}

async function endWithin(system: AlertSystem, copies: readonly QuestdbSql[], group: RuleGroup): Promise<number> {
  const { rows } = await system.pool.query<{ device_id: string }>(
    `SELECT DISTINCT a.device_id FROM alert a JOIN alert_rule r ON r.id = a.rule_id
     WHERE a.ended_at IS NULL AND r.kind = $1 AND r.threshold = $2 AND r.for_minutes = $3`,
    [group.kind, group.threshold, group.forMinutes],
  )
  if (rows.length === 0) return 0
  const alerted = new Set(rows.map((row) => row.device_id))
  const within = await tryInOrder(copies, (questdb) =>
    readWithin(questdb, group, group.organizationIds, alerted, system.clock()),
  )
  if (within.length === 0) return 0
  return runStep(system, 'telemetry', (connection) =>
    endAlerts(connection, system, {
      kinds: [group.kind],
      join: `JOIN unnest($2::uuid[], $3::uuid[]) AS seen (organization_id, device_id)
        ON seen.organization_id = a.organization_id AND seen.device_id = a.device_id`,
      ended: 'r.threshold = $4 AND r.for_minutes = $5',
      values: [
        within.map(({ organizationId }) => organizationId),
        within.map(({ deviceId }) => deviceId),
        group.threshold,
        group.forMinutes,
      ],
    }),
  )
}
