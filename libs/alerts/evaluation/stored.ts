import {
  type AlertSystem,
  type EvaluationStep,
  endAlerts,
  endOutOfScope,
  evaluateSlice,
  openAlerts,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import { configDiffers, jobFailed, profileNotApplied } from '#alerts/evaluation/job-conditions'
import { evaluateInTurns, isSmall, slicesOf } from '#alerts/evaluation/shares'
import { updateSides } from '#alerts/evaluation/sides'
import { endWebhookAlerts, openWebhookAlerts } from '#alerts/evaluation/webhooks'
import type { AlertKind } from '#alerts/rules/condition'
import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'

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

// A device that was offline gets the whole period to find a fix. After a transfer, `last_fix_at` is
// the time of the transfer until there is a position.
const noFix: SqlCondition & SqlEnd = {
  kinds: ['no_fix'],
  holds: `d.status IN ('online', 'error') AND coalesce(d.last_fix_at, '-infinity') <= now() - ${period}
    AND ${onlineSince} <= now() - ${period}`,
  since: `coalesce(d.last_fix_at, ${onlineSince})`,
  measured: `jsonb_build_object('lastFixAt', CASE WHEN d.last_lat IS NOT NULL THEN ${isoUtc('d.last_fix_at')} END)`,
  ended: `d.last_fix_at > now() - ${period}`,
}

const sideJoin = 'JOIN alert_side s ON s.rule_id = r.id AND s.device_id = d.id'

const places: SqlCondition & SqlEnd = {
  kinds: ['entered_place', 'left_place'],
  join: sideJoin,
  holds: `s.crossed AND s.inside = (r.kind = 'entered_place') AND s.since <= now() - ${period}`,
  since: 's.since',
  measured: `jsonb_build_object('lat', d.last_lat, 'lon', d.last_lon, 'placeId', r.place_id, 'placeName',
    (SELECT p.name FROM place p WHERE p.organization_id = r.organization_id AND p.id = r.place_id))`,
  ended: `s.inside <> (r.kind = 'entered_place')`,
}

// A device of which nothing is known any more, because it does not move, keeps its alert.
const radioFault: SqlCondition & SqlEnd = {
  kinds: ['radio_fault'],
  join: `JOIN (
      SELECT h.organization_id, h.device_id, bool_or(h.status = 'fault') AS is_fault, bool_or(h.status <> 'unknown') AS is_known,
        (array_agg(jsonb_build_object('modem', h.modem, 'offsetDb', h.offset_db) ORDER BY h.severity, h.offset_order))[1] AS worst,
        (array_agg(coalesce(h.since_at, run.window_from) ORDER BY h.severity, h.offset_order))[1] AS since
      FROM device_radio_health h JOIN radio_health_run run ON run.organization_id = h.organization_id
      WHERE h.organization_id = ANY ($organizationIds::uuid[]) GROUP BY h.organization_id, h.device_id
    ) radio ON radio.organization_id = d.organization_id AND radio.device_id = d.id`,
  holds: 'radio.is_fault',
  since: 'radio.since',
  measured: 'radio.worst',
  ended: 'radio.is_known AND NOT radio.is_fault',
}

/** The kinds of rules that need only Postgres. */
const conditions = [offline, noFix, places, radioFault, jobFailed, profileNotApplied, configDiffers]
const kinds: AlertKind[] = [...conditions.flatMap((condition) => condition.kinds), 'webhook_disabled']

/**
 * Evaluates the rules that need only Postgres, in turns of organizations: offline, no fix, entered or left a place, a radio
 * that is weaker than its neighbours, a job that did not succeed, a profile that is not applied, a config that differs, and a disabled webhook. Small
 * organizations share a turn. Opens and ends alerts. Several workers may run it; each event opens one alert. Returns the number of changes.
 */
export async function evaluateStored(system: AlertSystem, rounds: FairRounds = createFairRounds()): Promise<number> {
  const { rows } = await system.pool.query<OwnRules>(rulesSql, [kinds])
  const rulesOf = ({ rules }: OwnRules) => rules.length
  return evaluateInTurns(rounds, {
    units: rows,
    isSharing: (own) => own.every((unit) => isSmall(rulesOf(unit), unit.devices)),
    alone: (own) =>
      own.flatMap((unit) =>
        slicesOf(unit.rules, unit.devices).map((rules) => () => evaluate(system, [{ ...unit, rules }])),
      ),
    together: [(some) => evaluate(system, some)],
    rulesOf,
  })
}

/** A rule. `kind` is null unless this module evaluates it. `alerted`: it has alerts that have not ended. */
type EvaluatedRule = { id: string; kind: AlertKind | null; alerted: boolean }
type OwnRules = { organizationId: string; rules: EvaluatedRule[]; devices: number }

/** The rules with work, by organization. Skips from one rule with alerts to the next in the index instead of reading all alerts. */
const rulesSql = `
  WITH RECURSIVE alerted AS (
    (SELECT organization_id, rule_id FROM alert WHERE ended_at IS NULL ORDER BY organization_id, rule_id LIMIT 1)
    UNION ALL
    SELECT next.organization_id, next.rule_id FROM alerted CROSS JOIN LATERAL (
      SELECT a.organization_id, a.rule_id FROM alert a
      WHERE a.ended_at IS NULL AND (a.organization_id, a.rule_id) > (alerted.organization_id, alerted.rule_id)
      ORDER BY a.organization_id, a.rule_id LIMIT 1
    ) next
  )
  SELECT own.organization_id AS "organizationId", own.rules, coalesce(used.device_count, 0) AS devices FROM (
    SELECT coalesce(r.organization_id, a.organization_id) AS organization_id,
      json_agg(json_build_object('id', coalesce(r.id, a.rule_id), 'kind', r.kind, 'alerted', a.rule_id IS NOT NULL)
        ORDER BY coalesce(r.id, a.rule_id)) AS rules
    FROM (SELECT organization_id, id, kind FROM alert_rule WHERE enabled AND kind = ANY ($1::text[])) r
      FULL JOIN alerted a ON a.rule_id = r.id AND a.organization_id = r.organization_id
    GROUP BY 1
  ) own LEFT JOIN organization_usage used ON used.organization_id = own.organization_id
  ORDER BY own.organization_id`

/** Evaluates rules, each step in one statement. */
function evaluate(system: AlertSystem, units: readonly OwnRules[]): ReturnType<Piece> {
  const organizationIds = units.map(({ organizationId }) => organizationId)
  const rules = units.flatMap((unit) => unit.rules)
  const present = new Set(rules.map(({ kind }) => kind))
  const alerted = new Set(rules.flatMap((rule) => (rule.alerted ? [rule.kind] : [])))
  const isAny = (condition: SqlCondition, of: ReadonlySet<AlertKind | null>) =>
    condition.kinds.some((kind) => of.has(kind))
  const steps: EvaluationStep[] = []
  if (alerted.size > 0) steps.push((connection, slice) => endOutOfScope(connection, system, slice))
  if (isAny(places, present)) steps.push((connection, slice) => updateSides(connection, system, slice).then(() => 0))
  for (const condition of conditions) {
    if (isAny(condition, alerted)) steps.push((connection, slice) => endAlerts(connection, slice, condition))
    if (isAny(condition, present)) steps.push((connection, slice) => openAlerts(connection, system, slice, condition))
  }
  if (alerted.has('webhook_disabled')) steps.push(endWebhookAlerts)
  if (present.has('webhook_disabled')) steps.push(openWebhookAlerts)
  return evaluateSlice(system, 'stored', { organizationIds, ruleIds: rules.map(({ id }) => id) }, steps)
}
