import {
  type AlertSystem,
  endAlerts,
  endChosen,
  evaluationPiece,
  openAlerts,
  type SqlCondition,
  type SqlEnd,
  slicesOf,
} from '#alerts/evaluation/changes'
import { outOfScopeSql } from '#alerts/evaluation/scope'
import { updateSides } from '#alerts/evaluation/sides'
import type { AlertKind } from '#alerts/rules/condition'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import type { Connection } from '#postgres/pool'

const isoUtc = (time: string) => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const period = 'make_interval(mins => r.for_minutes)'

const offline: SqlCondition & SqlEnd = {
  kinds: ['offline'],
  holds: `d.last_seen_at <= now() - ${period}`,
  since: 'd.last_seen_at',
  measured: `jsonb_build_object('lastSeenAt', ${isoUtc('d.last_seen_at')})`,
  ended: `d.last_seen_at > now() - ${period}`,
}

/** When device `d` last came online, or its creation. */
const onlineSince = `coalesce((
  SELECT e.at FROM audit_entry e
  WHERE e.organization_id = d.organization_id AND e.subject_id = d.id::text AND e.action = 'device.status_changed'
    AND e.detail ->> 'from' IN ('provisioning', 'offline', 'disabled')
  ORDER BY e.id DESC LIMIT 1), d.created_at)`

// A device that was offline gets the whole period to find a fix.
const noFix: SqlCondition & SqlEnd = {
  kinds: ['no_fix'],
  holds: `d.status IN ('online', 'error') AND coalesce(d.last_fix_at, '-infinity') <= now() - ${period}
    AND ${onlineSince} <= now() - ${period}`,
  since: `coalesce(d.last_fix_at, ${onlineSince})`,
  measured: `jsonb_build_object('lastFixAt', ${isoUtc('d.last_fix_at')})`,
  ended: `d.last_fix_at > now() - ${period}`,
}

const sideJoin = 'JOIN alert_side s ON s.rule_id = r.id AND s.device_id = d.id'

const places: SqlCondition & SqlEnd = {
  kinds: ['entered_place', 'left_place'],
  join: sideJoin,
  holds: `s.crossed AND s.inside = (r.kind = 'entered_place') AND s.since <= now() - ${period}`,
  since: 's.since',
  measured: `jsonb_build_object('lat', d.last_lat, 'lon', d.last_lon)`,
  ended: `s.inside <> (r.kind = 'entered_place')`,
}

/** The kinds of rules that need only Postgres. */
const conditions = [offline, noFix, places]
const kinds = conditions.flatMap((condition) => condition.kinds)

/**
 * Evaluates the rules that need only Postgres, organization by organization: offline, no fix, entered or left a place. Opens
 * and ends alerts. Several workers may run it; each event opens one alert. Returns the number of changes.
 */
export async function evaluateStored(system: AlertSystem, rounds: FairRounds = createFairRounds()): Promise<number> {
  const { rows } = await system.pool.query<{ id: string }>(organizationsSql, [kinds])
  return rounds.run({
    owners: rows.map(({ id }) => id),
    workOf: async (organizationId) => {
      const rules = await readRules(system, organizationId)
      return slicesOf(rules, rules[0]?.devices ?? 0).map((slice) =>
        evaluationPiece(system, 'stored', organizationId, stepsOf(system, organizationId, slice)),
      )
    },
  })
}

/** The organizations with rules or alerts. Skips from one to the next in the index instead of reading all alerts. */
const organizationsSql = `
  WITH RECURSIVE alerted AS (
    (SELECT organization_id FROM alert WHERE ended_at IS NULL ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT a.organization_id FROM alert a WHERE a.ended_at IS NULL AND a.organization_id > alerted.organization_id
            ORDER BY a.organization_id LIMIT 1)
    FROM alerted WHERE alerted.organization_id IS NOT NULL
  )
  SELECT organization_id AS id FROM alerted WHERE organization_id IS NOT NULL
  UNION
  SELECT organization_id FROM alert_rule WHERE enabled AND kind = ANY ($1::text[])`

/** A rule. `kind` is null unless this module evaluates it. `alerted`: it has alerts that have not ended. */
type EvaluatedRule = { id: string; kind: AlertKind | null; alerted: boolean; devices: number | null }

async function readRules({ pool }: AlertSystem, organizationId: string): Promise<EvaluatedRule[]> {
  const { rows } = await pool.query<EvaluatedRule>(
    `SELECT coalesce(rule.id, alerted.rule_id) AS id, rule.kind, alerted.rule_id IS NOT NULL AS alerted,
       (SELECT device_count FROM organization_usage WHERE organization_id = $1) AS devices
     FROM (SELECT id, kind FROM alert_rule WHERE organization_id = $1 AND enabled AND kind = ANY ($2::text[])) rule
     FULL JOIN (SELECT DISTINCT rule_id FROM alert WHERE organization_id = $1 AND ended_at IS NULL) alerted
       ON alerted.rule_id = rule.id
     ORDER BY id`,
    [organizationId, kinds],
  )
  return rows
}

/** The steps that evaluate these rules, each a statement. */
function stepsOf(system: AlertSystem, organizationId: string, rules: readonly EvaluatedRule[]) {
  const slice = { organizationId, ruleIds: rules.map(({ id }) => id) }
  const present = new Set(rules.map(({ kind }) => kind))
  const areThere = (condition: SqlCondition) => condition.kinds.some((kind) => present.has(kind))
  const steps: ((connection: Connection) => Promise<number>)[] = []
  if (rules.some(({ alerted }) => alerted))
    steps.push((connection) => endChosen(connection, system, slice, outOfScopeSql))
  if (areThere(places)) steps.push((connection) => updateSides(connection, system, slice).then(() => 0))
  for (const condition of conditions.filter(areThere)) {
    steps.push(
      (connection) => endAlerts(connection, system, slice, condition),
      (connection) => openAlerts(connection, system, slice, condition),
    )
  }
  return steps
}
