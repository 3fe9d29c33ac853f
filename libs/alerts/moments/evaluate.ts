import {
  type AlertSystem,
  endAlerts,
  evaluateSlice,
  openAlerts,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import { evaluateInTurns, isSmall, slicesOf } from '#alerts/evaluation/shares'
import { createFairRounds, type FairRounds, type Piece } from '#core/fair-rounds'
import { tryInOrder } from '#core/try-in-order'
import { latecomers } from '#fleet/devices/ownership'
import type { QuestdbSql } from '#questdb/server/sql'
import { updateBaselines } from './baselines.ts'
import { type MomentKind, momentKinds, readMoments } from './read-moments.ts'

/** How long after it was noticed a moment has an alert. */
const newsHours = 24
const hourMs = 3_600_000

/**
 * The last moment of each device that is news. When a person has closed an alert, only a moment that is noticed afterwards opens
 * another one.
 */
const momentOf = (kind: MomentKind): SqlCondition & SqlEnd => ({
  kinds: [kind],
  join: `LEFT JOIN (
      SELECT DISTINCT ON (rule_id, device_id) rule_id, device_id, moment_at, noticed_at, measured FROM alert_baseline
      WHERE organization_id = ANY ($organizationIds::uuid[]) AND noticed_at > now() - interval '${newsHours} hours'
      ORDER BY rule_id, device_id, noticed_at DESC, modem
    ) moment ON moment.rule_id = r.id AND moment.device_id = d.id`,
  holds: `moment.noticed_at IS NOT NULL AND NOT EXISTS (SELECT FROM alert handled
    WHERE handled.device_id = d.id AND handled.rule_id = r.id AND handled.closed_at >= moment.noticed_at)`,
  since: 'moment.moment_at',
  measured: 'moment.measured',
  ended: "a.state = 'closed' OR moment.noticed_at IS NULL",
})

type MomentRules = { organizationId: string; kind: MomentKind; ruleIds: string[]; devices: number }

/**
 * Evaluates the rules about restarts and about other SIMs and operators, in turns of organizations, from the copies of QuestDB in
 * this order. Small organizations share a turn. Several workers may run it; each moment opens one alert. Returns the number
 * of changed alerts.
 */
export async function evaluateMoments(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  rounds: FairRounds = createFairRounds(),
): Promise<number> {
  const { rows } = await system.pool.query<MomentRules>(rulesSql, [momentKinds])
  const rulesOf = ({ ruleIds }: MomentRules) => ruleIds.length
  return evaluateInTurns(rounds, {
    units: rows,
    isSharing: (own) => own.every((rules) => isSmall(rulesOf(rules), rules.devices)),
    alone: (own) =>
      own.flatMap((rules) =>
        slicesOf(rules.ruleIds, rules.devices).map(
          (ruleIds) => () => evaluate(system, copies, rules.kind, [{ ...rules, ruleIds }]),
        ),
      ),
    together: [(some) => (some[0] ? evaluate(system, copies, some[0].kind, some) : nothing())],
    nameOf: ({ kind }) => `${kind}, small organizations`,
    rulesOf,
  })
}

const nothing: Piece = () => Promise.resolve({ changes: 0, hasMore: false })

const rulesSql = `
  SELECT r.organization_id AS "organizationId", r.kind, array_agg(r.id ORDER BY r.id) AS "ruleIds",
    coalesce(max(used.device_count), 0) AS devices
  FROM alert_rule r JOIN organization o ON o.id = r.organization_id
    LEFT JOIN organization_usage used ON used.organization_id = r.organization_id
  WHERE r.enabled AND r.kind = ANY ($1::text[]) AND o.subscription_status NOT IN ('suspended', 'cancelled')
  GROUP BY r.organization_id, r.kind ORDER BY r.organization_id, r.kind`

/** Evaluates rules of one kind. */
async function evaluate(
  system: AlertSystem,
  copies: readonly QuestdbSql[],
  kind: MomentKind,
  units: readonly MomentRules[],
): ReturnType<Piece> {
  const organizationIds = units.map(({ organizationId }) => organizationId)
  const slice = { organizationIds, ruleIds: units.flatMap(({ ruleIds }) => ruleIds) }
  const late = await latecomers(system.pool, organizationIds, system.clock() - newsHours * hourMs)
  const owners = { organizationIds, late }
  const observed = await tryInOrder(copies, (questdb) => readMoments(questdb, kind, owners, system.clock()))
  const condition = momentOf(kind)
  return evaluateSlice(system, 'telemetry', slice, [
    (connection, held) => updateBaselines(connection, system, held, kind, observed).then(() => 0),
    (connection, held) => endAlerts(connection, held, condition),
    (connection, held) => openAlerts(connection, system, held, condition),
  ])
}
