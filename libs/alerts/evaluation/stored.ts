import {
  type AlertSystem,
  endAlerts,
  endChosen,
  openAlerts,
  runStep,
  type SqlCondition,
  type SqlEnd,
} from '#alerts/evaluation/changes'
import { outOfScopeSql } from '#alerts/evaluation/scope'
import { maxSides, updateSides } from '#alerts/evaluation/sides'

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

/**
 * Evaluates the rules that need only Postgres, for all organizations: offline, no fix, entered or left a place. Opens and
 * ends alerts. Several workers may run it; each event opens one alert. Returns the number of changes.
 */
export async function evaluateStored(system: AlertSystem): Promise<number> {
  if (!(await isWorkThere(system))) return 0
  let changes = await runStep(system, 'stored', (connection) => endChosen(connection, system, outOfScopeSql))
  await runStep(system, 'stored', (connection) => updateSides(connection, system), maxSides)
  for (const condition of [offline, noFix, places]) {
    changes += await runStep(system, 'stored', (connection) => endAlerts(connection, system, condition))
    changes += await runStep(system, 'stored', (connection) => openAlerts(connection, system, condition))
  }
  return changes
}

/** Whether there are rules or alerts. Without them, a round is one query. */
async function isWorkThere({ pool }: AlertSystem): Promise<boolean> {
  const { rows } = await pool.query<{ there: boolean }>(
    'SELECT EXISTS (SELECT FROM alert_rule) OR EXISTS (SELECT FROM alert WHERE ended_at IS NULL) AS there',
  )
  return rows[0]?.there ?? false
}
