import { type AlertSystem, type RuleSlice, sliceValues } from '#alerts/evaluation/changes'
import { watchedSql } from '#alerts/evaluation/scope'
import { storable, storableJson } from '#core/text'
import { named } from '#postgres/named'
import type { Connection } from '#postgres/pool'
import type { MomentKind, Observed } from './read-moments.ts'

/** What an observation `seen` says beside the one before it, `known`, as SQL. */
type Comparison = { isMoment: string; differs: string; measured: string }

const lateS = '((seen.value::float8 - known.value::float8) / 1000)'

/**
 * A start that is more than two minutes later than the known one is another start: the uptime can lag behind the clock a little.
 * The known start follows the clock of a device that has run for an hour.
 */
const start: Comparison = {
  isMoment: `${lateS} > 120`,
  differs: `(${lateS} > 120 OR abs(${lateS}) > 30 AND (seen.shown ->> 'uptimeS')::float8 > 3600)`,
  measured: 'seen.shown',
}

const value: Comparison = {
  isMoment: 'seen.is_new',
  differs: 'seen.value <> known.value',
  measured: "jsonb_build_object('modem', nullif(seen.modem, ''), 'from', known.shown, 'to', seen.shown)",
}

const comparisons: Record<MomentKind, Comparison> = { rebooted: start, sim_changed: value, operator_changed: value }

/**
 * Stores what was observed where that is new or has changed, in the caller's transaction. The first observation by a rule is not
 * a change. Observations that are older than the known one change nothing.
 */
export async function updateBaselines(
  connection: Connection,
  { plans }: AlertSystem,
  slice: RuleSlice,
  kind: MomentKind,
  observed: readonly Observed[],
): Promise<void> {
  const { isMoment, differs, measured } = comparisons[kind]
  const now = (then: string, column: string) => `CASE WHEN ${isMoment} THEN ${then} ELSE known.${column} END`
  await connection.query(
    named(
      `WITH seen AS MATERIALIZED (
         SELECT * FROM unnest($organizations::uuid[], $devices::uuid[], $modems::text[], $values::text[], $shown::jsonb[],
           $seenAt::timestamptz[], $momentAt::timestamptz[], $isNew::boolean[])
           AS seen (organization_id, device_id, modem, value, shown, seen_at, moment_at, is_new)
       ), changed AS (
         UPDATE alert_baseline known SET value = seen.value, shown = seen.shown, seen_at = seen.seen_at,
           moment_at = ${now('seen.moment_at', 'moment_at')}, noticed_at = ${now('now()', 'noticed_at')},
           measured = ${now(measured, 'measured')}
         FROM seen
         WHERE known.organization_id = seen.organization_id AND known.organization_id = ANY ($organizationIds::uuid[])
           AND known.rule_id = ANY ($ruleIds::uuid[]) AND known.device_id = seen.device_id AND known.modem = seen.modem
           AND seen.seen_at > known.seen_at AND ${differs}
       )
       INSERT INTO alert_baseline (rule_id, device_id, modem, organization_id, value, shown, seen_at)
       SELECT r.id, d.id, seen.modem, r.organization_id, seen.value, seen.shown, seen.seen_at
       ${watchedSql([kind], 'JOIN seen ON seen.organization_id = r.organization_id AND seen.device_id = d.id')}
         AND NOT EXISTS (SELECT FROM alert_baseline known
           WHERE known.rule_id = r.id AND known.device_id = d.id AND known.modem = seen.modem)
       ON CONFLICT DO NOTHING`,
      {
        ...sliceValues(plans, slice),
        organizations: observed.map(({ organizationId }) => organizationId),
        devices: observed.map(({ deviceId }) => deviceId),
        modems: observed.map(({ modem }) => storable(modem)),
        values: observed.map((each) => storable(each.value)),
        shown: observed.map(({ shown }) => JSON.stringify(storableJson(shown))),
        seenAt: observed.map(({ seenMs }) => new Date(seenMs)),
        momentAt: observed.map(({ momentMs }) => new Date(momentMs)),
        isNew: observed.map(({ isNew }) => isNew),
      },
    ),
  )
}
